"""What an index shows of a release: the repository's addresses, and the README with absolute links, as others fail.

The environment's ADDRESS says where the repository is, as in `https://github.com/OWNER/captionbias`. Without it, as in
a clone, the README stays as it is. A build of an sdist takes both from the sdist's metadata.
"""

import os
import re
from pathlib import Path
from urllib.parse import urljoin

from hatchling.metadata.plugin.interface import MetadataHookInterface

# Code, which stays as it is; or what is before the target of a picture or of a link, and the target.
CODE_OR_TARGET = re.compile(r"```.*?```|`[^`\n]*`|^ {4}.*?$|(!\[[^]]*]\(|]\()([^\s)]+)", re.DOTALL | re.MULTILINE)


def addresses(version: str) -> dict[str, str]:
    repository = os.environ.get("ADDRESS", "").removesuffix("/").removesuffix(".git")
    return {
        "Repository": repository,
        "Issues": f"{repository}/issues",
        "Changelog": f"{repository}/blob/v{version}/CHANGELOG.md",
        "Documentation": re.sub(r"^https://github\.com/([^/]+)/(.+)", r"https://\1.github.io/\2/", repository),
    } if repository.startswith("https://") else {}  # fmt: skip


class ReleaseMetadata(MetadataHookInterface):
    def update(self, metadata: dict) -> None:
        def absolute(match: re.Match) -> str:
            before, target = match.groups()
            kind = "raw" if (before or "").startswith("!") else "blob"
            return before + urljoin(f"{urls['Repository']}/{kind}/v{version}/README.md", target) if before else match[0]

        text, version = Path(self.root, "README.md").read_text(encoding="utf-8"), metadata["version"]
        urls = addresses(version)
        metadata["urls"] = self.config["urls"] | urls
        text = CODE_OR_TARGET.sub(absolute, text) if urls else text
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
