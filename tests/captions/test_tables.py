"""Files of every format give the same captions, and those that cannot be read say why and what to do."""

import gzip
import json
import pickle
import random
import re
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.captions import CaptionBiasWarning, read_captions
from captionbias.captions.tables import as_table
from captionbias.captions.texts import canonical_order
from captionbias.captions.values import entries
from tests.launch import python

FORMATS = ["csv", "tsv", "json", "jsonl", "parquet"]


@pytest.mark.usefixtures("no_warnings")
@pytest.mark.parametrize(("of_predictions", "of_people"), list(zip(FORMATS, FORMATS[1:] + FORMATS[:1], strict=True)))
def test_formats_give_the_same_captions_in_the_order_of_their_ids(
    tmp_path, of_predictions, of_people, write, prediction_records, people_records
):
    captions = read_captions(
        predictions=write(tmp_path / f"predictions.{of_predictions}", prediction_records),
        references=str(write(tmp_path / f"people.{of_people}", people_records)),
    )
    assert captions.image_ids == ("7", "42", "9223372036854775807")
    assert captions.predictions == ('a woman, her dog\nand a "cat"', "a man\u2028on a\x85bike", "NA 7")
    human = [["a woman", "a lady, a dog"], ["a man rides"], ["null", "None"]]
    assert captions.references == canonical_order(human, once=False)
    assert captions.attributes == ("female", "male", "NA")
    assert captions.tasks == (("dog", "cat"), ("bicycle",), ())


QUOTED = '{"image_id": %d, "caption": "%s", "attribute": "%s"}'
OBJECTS = [QUOTED % (1, 'Äpfel, so; sagt\\t\\"sie\\"', "f"), QUOTED % (2, "b", "m")]
CELLS = '"image_id"{0} caption {0}attribute\r\n1{0}"Äpfel, so; sagt\t""sie"""{0}f\r\n2{0}b{0}m'


@pytest.mark.usefixtures("no_warnings")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_text_is_read_as_excel_and_windows_write_it(tmp_path, encoding):
    tables = [("A.CSV", CELLS.format(mark)) for mark in ",;\t"] + [("a.txt", CELLS.format("\t"))]
    for name, text in [*tables, ("a.json", f"[{','.join(OBJECTS)}]"), ("a.jsonl", "\n\n".join(OBJECTS))]:
        (tmp_path / name).write_bytes(text.encode(encoding))
        assert read_captions(predictions=tmp_path / name).predictions == ('Äpfel, so; sagt\t"sie"', "b")


@settings(max_examples=80, deadline=None)
@given(texts=st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=4))
def test_a_list_as_python_or_numpy_writes_it_is_read_as_it_was(texts):
    assert entries(str(texts)) == entries(f" {json.dumps(texts)} ") == texts
    assert entries(str([*texts, None])) == [*texts, None]
    assert entries(str(np.array(texts, object))) == texts


@pytest.mark.parametrize(
    "cell",
    [
        *("['a' + 'b']", "['a man', open('x')]", "['a man' + ']", "['\\x']"),
        pytest.param("['" + "\\'" * 50_000 + "]", id="quotes"),
        pytest.param("['a', " + "[" * 50_000 + "]", id="deep"),
    ],
)
def test_what_is_no_list_of_texts_is_not_run_and_soon_refused(cell):
    with pytest.raises(ValueError, match=r"looks like a list and is not a whole one; write it with json.dumps"):
        entries(cell)
    assert [entries(text) for text in ("[unclear]", "[1")] == [["[unclear]"], ["[1"]]


IDS, SAID, GENDERS = ["7", "9"], ["a man, seated", 'a "girl"'], ["male", "female"]
PAIRS = list(zip(IDS, SAID, strict=True))
LABELS = {"image_id": IDS, "gender": GENDERS}
COLUMNS = LABELS | {"caption": SAID}
RECORDS = pd.DataFrame(COLUMNS).to_dict("records")
SENTENCES = [{"cocoid": image, "imgid": n, "sentences": [{"raw": t}]} for n, (image, t) in enumerate(PAIRS)]
COCO = {"images": [{"id": 7}, {"id": 9}], "annotations": [{"id": 9, "image_id": i, "caption": t} for i, t in PAIRS]}


def spoken(text):
    turns = [("human", "user", "<image>\nDescribe it."), ("gpt", "assistant", text)]
    return [
        {"from": who, "value": said} if text == SAID[0] else {"role": role, "content": said}
        for who, role, said in turns
    ]


def lines(line, head=""):
    return head + "".join(line.format(image, text) for image, text in PAIRS)


SOURCES = [
    ("records.json", RECORDS),
    ("beside.json", {"dataset": "TextCaps", "splits": ["val"], "data": RECORDS}),
    ("columns.json", COLUMNS),
    ("pandas.json", pd.DataFrame(RECORDS).to_json()),
    ("by_id.json", {record["image_id"]: record for record in RECORDS}),
    ("coco.json", COCO),
    ("karpathy.json", {"dataset": "coco", "images": SENTENCES}),
    ("karpathy_list.json", SENTENCES),
    ("texts.json", dict(PAIRS)),
    ("lists.json", {image: [text] for image, text in PAIRS}),
    ("objects.json", {image: [{"caption": text}] for image, text in PAIRS}),
    ("textcaps.json", {"data": [{"image_id": i, "caption_str": "x", "reference_strs": [t]} for i, t in PAIRS]}),
    (
        "dci.json",
        [{"image": f"{i}.jpg", "short_caption": t, "extra_caption": "x", "mask_data": {}} for i, t in PAIRS],
    ),
    ("sharegpt4v.json", [{"id": f"x{i}", "image": f"sam/{i}.jpg", "conversations": spoken(t)} for i, t in PAIRS]),
    ("chats.jsonl", "\n".join(json.dumps({"image": f"a/{i}.png", "messages": spoken(t)}) for i, t in PAIRS)),
    ("in_folders.json", [{"image_id": f"val\\{image}.jpg", "caption": text} for image, text in PAIRS]),
    ("train.en", lines("{1}\n")),
    ("packed.json.gz", RECORDS),
    ("packed.csv.gz", lines("{}.jpg,{}\n", "image,caption\n")),
    ("train.lc.en.gz", lines("{1}\n")),
    ("flickr30k.token", lines("{}.jpg#0\t{}\n")),
    ("flickr8k.txt", lines("{}.jpg.1#0\t{}\n")),
    ("kaggle8k.txt", lines("{}.jpg,{}\n", "image,caption\n")),
    ("no_names.txt", lines("{}.jpg,{}\n")),
    ("kaggle30k.csv", lines("{}.jpg| 0| {}\n", "image_name| comment_number| comment\n")),
    ("kaggle30k_no_names.csv", lines("{}.jpg| 0| {}\n")),
    ("kaggle30k_commas.csv", lines("{}.jpg, 0, {}\n", "image_name,comment_number,comment\n")),
    ("lic.pkl", [{"img_id": int(i), "caption_list": [t], "bb_gender": "Male"} for i, t in PAIRS]),
]


def write_source(folder, name, content):
    """The file, and beside Multi30k's lines the names of their images."""
    path, text = folder / name, content if isinstance(content, str) else json.dumps(content)
    data = pickle.dumps(content) if path.suffix == ".pkl" else text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    if name.startswith("train"):
        (folder / "train_images.txt").write_text("7.jpg\n9.jpg\n")
    return path


@pytest.mark.parametrize(("name", "content"), SOURCES)
def test_captions_of_every_source_are_read_alike(tmp_path, name, content):
    path = write_source(tmp_path, name, content)
    for people in ({"predictions": COLUMNS}, {}):  # joined by ids that are known, or guessed
        captions = read_captions(**people, references=path, attributes=LABELS, attribute="gender")
        assert (captions.image_ids, captions.references) == (("7", "9"), tuple((text,) for text in SAID))
    (tmp_path / "labels.json").write_text(json.dumps(dict(zip(IDS, GENDERS, strict=True))))
    labelled = read_captions(references=path, attributes=tmp_path / "labels.json", attribute="gender")
    assert labelled.attributes == ("male", "female")


def test_a_folder_of_a_file_an_image_is_a_table_whatever_else_is_in_them(tmp_path):
    for image, text in PAIRS:
        masks = {f"{image}{n}": {"caption": "x"} for n in range(int(image))}  # other columns in each file
        record = {"image": f"{image}.jpg", "short_caption": text, "mask_data": masks}
        (tmp_path / f"{image}.json").write_text(json.dumps(record))
    assert read_captions(references=tmp_path, attributes=LABELS).references == tuple((text,) for text in SAID)


def test_what_gzip_packed_is_unpacked_up_to_a_limit_and_damage_is_named(tmp_path, fault, monkeypatch):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"image_id": 7, "caption": "a man", "attribute": "m"}')[:-9])
    assert fault(read_captions, predictions=path).startswith(f"{path} cannot be read (")
    path.write_bytes(gzip.compress(b"\n" * 100))
    monkeypatch.setattr("captionbias.captions.sources.MOST_BYTES", 99)
    assert fault(read_captions, predictions=path).startswith(f"{path} unpacks to more than 0 MB")


@pytest.mark.parametrize("people", ["people.csv", "people.de"])
def test_captions_a_line_have_the_images_of_another_table_s_rows_if_it_has_as_many(tmp_path, people, fault):
    said, people = tmp_path / "said.txt", tmp_path / people
    said.write_text("A man, seated\n\nA girl runs by the sea\n")
    people.write_text(
        "image_id,caption\n8,a cat\n9,a dog\n7,a cow\n" if people.suffix == ".csv" else "a cat\na dog\na cow\n"
    )
    labels = {"image_id": [8, 9, 7], "gender": ["male", "male", "female"]}
    with pytest.warns(
        CaptionBiasWarning, match=rf"images of {said}.* from the order of the rows of (attributes|{people})"
    ):
        captions = read_captions(predictions=said, references=people, attributes=labels, attribute="gender")
    assert captions.image_ids == ("7", "8")
    assert captions.predictions == ("A girl runs by the sea", "A man, seated")
    said.write_text("A man, seated\nA girl runs by the sea\n")
    wrong = fault(read_captions, predictions=said, references=people, attributes=labels, attribute="gender")
    assert wrong.startswith(f"{said} has 2 lines, which name no images, and ")


HEAD = "image_id,caption,attribute\n"
CATEGORIES = [{"id": 1, "name": "person"}, {"id": 3, "name": "cake"}]
OBJECTS_OF_COCO = {
    "images": [{"id": 9}],
    "annotations": [{"image_id": 9, "category_id": 1}, {"image_id": 9, "category_id": 3}],
    "categories": CATEGORIES,
}


def broken(**changes):
    return json.dumps(OBJECTS_OF_COCO | changes)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", None, " does not exist: check the path"),
        ("a.csv", "", " is an empty file"),
        ("a.csv", "\n\n", " has only blank lines"),
        ("a.csv", HEAD, " has no rows"),
        ("a.csv", HEAD + "1,a,m\n2,a man, sitting,m\n", " has 3 columns, but line 3 has 4: "),
        ("a.csv", HEAD + '1,"a,m\n2,b,f\n', " cannot be read (unexpected end of data): check"),
        ("a.csv", (HEAD + "1,café,m\n").encode("cp1252"), " cannot be read ('utf-8' codec can't decode byte 0xe9"),
        ("a.csv", HEAD + "1,a,m\n2,a man\n", " has 3 columns, but line 3 has 2: add what it lacks"),
        ("a.csv", "image_id,caption,caption,attribute\n1,a,b,m\n", " has more than one column 'caption'"),
        ("a.csv", HEAD + "1,a,m\n,b,f\n", ": image_id[1] is missing"),
        ("a.json", '[{"image_id": 1,\n "caption" "a"}]', " cannot be read (Expecting ':' delimiter: line 2"),
        ("a.json", '{"images": []}', " holds no rows"),
        ("a.json", '{"of": {"7": "a"}, "by": 1}', " holds neither records nor an entry for each image id: write "),
        ("a.json", '[{"image_id": 1}, "a"]', " has str instead of a record at position 1: "),
        ("a.json", "[]", " holds no rows"),
        ("a.json", '[{"id": 1, "id": 2}]', ": the key 'id' is twice in one object: keep one"),
        pytest.param("a.json", "[" * 100_000, " cannot be read (", id="deep"),
        pytest.param("a.json", "1" * 5000, ": Exceeds the limit", id="long number"),
        ("a.jsonl", '{"image_id": 1}\n\n{"image_id": 2', " is broken JSON at line 3, column "),
        ("a.jsonl", '{"image_id": 1}\n[2]', " has list instead of a record at line 2: "),
        ("a.jsonl", '{"id": 1, "id": 2}', ": the key 'id' is twice in one object: keep one"),
        ("a.json", broken(categories=[{"id": 1}]), " does not hold together (KeyError: 'name')"),
        ("a.json", broken(images=None), " does not hold together (TypeError"),
        ("a.json", broken(annotations=[{"image_id": 9, "category_id": [3]}]), " does not hold together (TypeError"),
        ("a.json", broken(images=[{"id": 7}]), " does not hold together (KeyError: 9)"),
        ("a.json", broken(categories=CATEGORIES[:1]), " does not hold together (KeyError: 3)"),
        ("a.parquet", "PAR1 and no more", " cannot be read ("),
        ("a.xlsx", "PK\x03\x04 and no more", " cannot be read ("),
        ("a.doc", "a man", " has the unknown extension '.doc': give one of .csv, .tsv, .txt, .token, .json, .jsonl, "),
        ("a.pkl", pickle.dumps([Path("x")]), ": it is not a whole pickle of plain data ("),  # it could run code
        ("a.pkl", pickle.dumps([{"img_id": 1}])[:-3], ": it is not a whole pickle of plain data ("),
        ("", None, " cannot be loaded as a dataset ("),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_way_out(tmp_path, name, content, message, fault):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    assert fault(read_captions, predictions=path).startswith(f"{path}{message}")


def test_parquet_with_a_wrong_byte_is_damaged_and_a_whole_one_is_not_where_memory_ends(
    tmp_path, fault, write, monkeypatch
):
    def without_memory(*_, **__):
        raise pa.ArrowMemoryError("malloc of size 64 failed")

    path = write(tmp_path / "a.parquet", {"caption": ["a b", "c"], "gender": ["m", "f"]})
    content = path.read_bytes()
    path.write_bytes(content.replace(b"gender", b"gendre", 1))  # pyarrow raises a KeyError
    assert fault(read_captions, path, attribute="gender").startswith(f"{path} cannot be read (")
    path.write_bytes(content)
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", without_memory)
    assert "needs more memory than is free" in fault(read_captions, path, attribute="gender")


ENDS_WITH_ITS_MEMORY = """
import json, sys
from pathlib import Path
from captionbias.cli.main import app
from typer.testing import CliRunner
for file in sys.argv[1:]:
    found = CliRunner().invoke(app, ["measure", "gender_error", "--predictions", file, "--bootstrap", "0"])
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    megabytes = int(status["VmHWM"].split()[0]) // 1024  # not the parent's before it began
    print(json.dumps([found.exit_code, megabytes, found.output]))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read as Linux tells it")
def test_a_small_file_that_unpacks_to_more_than_the_limit_is_refused_before_it_does(tmp_path):
    """One text in every row or entry of a list, of which the file holds one."""
    files = []
    for rows, length, times in ((6_000_000, 1, 0), (400_000, 2000, 2)):
        text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows * max(times, 1), np.int32)), ["a" * length])
        if times:
            text = pa.ListArray.from_arrays(pa.array(np.arange(rows + 1, dtype=np.int32) * times), text)
        label = pa.DictionaryArray.from_arrays(pa.array(np.arange(rows, dtype=np.int32) % 2), ["male", "female"])
        files.append(tmp_path / f"{rows}.parquet")
        pq.write_table(pa.table({"caption": text, "attribute": label}), files[-1], compression="zstd")
        assert files[-1].stat().st_size < 1_000_000
    printed = python("-c", ENDS_WITH_ITS_MEMORY, *files, folder=tmp_path)
    for line, file in zip(printed.splitlines(), files, strict=True):
        status, megabytes, said = json.loads(line)
        assert (status, megabytes < 500) == (2, True)
        assert re.search(
            rf"{file.name}: column '\w+' unpacks to [\d,]+ cells and [\d,]+ MB or more; the limit is 5,000,000 cells "
            r"and 500 MB: give fewer rows, count the captions with captionbias count, or read the file",
            said,
        )


def test_parquet_is_read_alike_however_it_is_packed(tmp_path):
    """With dictionaries, without them, with one that is full halfway, in several groups of rows, in other encodings."""
    draw = random.Random(0)
    lists = [[f"a {draw.random()}" for _ in range(draw.randint(0, 4))] for _ in range(3000)]
    lists = [None if draw.random() < 0.1 else texts for texts in lists]
    plain = [texts[0] if texts else None for texts in lists]
    kinds = {"lists": lists, "plain": plain, "label": ["f", "m", None] * 1000, "number": range(3000)}
    kinds |= {"of": [{"k": text, "l": texts} for text, texts in zip(plain, lists, strict=True)]}
    table = pa.table({**kinds, "category": pa.array(kinds["label"]).dictionary_encode()})
    table = table.append_column("numbers", pa.array([row % 5 for row in range(3000)]).dictionary_encode())
    table = table.append_column("pairs", pa.array([[("k", "v")], None, []] * 1000, pa.map_(pa.string(), pa.string())))
    delta = {"plain": "DELTA_LENGTH_BYTE_ARRAY", "lists.list.element": "DELTA_BYTE_ARRAY"}
    for packing in (
        {},
        {"dictionary_pagesize_limit": 2000, "data_page_size": 1000},
        {"use_dictionary": False, "row_group_size": 1000},
        {"row_group_size": 2500, "dictionary_pagesize_limit": 3000, "data_page_version": "2.0"},
        {"use_dictionary": False, "column_encoding": delta},
    ):
        pq.write_table(table, tmp_path / "a.parquet", **packing)
        read = as_table(tmp_path / "a.parquet", "a")
        assert {name: read.column(name) for name in read.columns} == table.to_pydict(), packing
    labels = read.column("category")
    assert labels[0] is labels[3], "rows share the texts of the dictionary"


@pytest.mark.parametrize("path", ["a\0b.csv", "a" * 300 + ".csv", "\ud800.csv"], ids=["null", "long", "half"])
def test_a_path_that_no_file_can_have_is_refused(path, fault):
    assert fault(read_captions, predictions=path).startswith(f"predictions {path!r:.60} cannot be read (")


@pytest.mark.usefixtures("no_warnings")
def test_of_a_workbook_the_sheet_with_rows_is_read(tmp_path, prediction_records, fault, monkeypatch):
    path = tmp_path / "a.xlsx"
    records = [{**record, "image_id": image} for image, record in enumerate(prediction_records)]
    sheet = pd.DataFrame(records).assign(attribute=["m", "f", "f"], empty=["x", None, "x"])

    def save(**sheets):
        with pd.ExcelWriter(path) as workbook:
            for name, rows in sheets.items():
                rows.to_excel(workbook, sheet_name=name, index=False)

    save(captions=sheet, other=pd.DataFrame())
    assert as_table(path, "a").column("caption") == [record["caption"] for record in prediction_records]
    assert read_captions(predictions=path).attributes == ("m", "f", "f")
    save(one=sheet, two=sheet)
    assert "has 2 sheets with rows (one, two): save one as CSV" in fault(as_table, path, "a")
    with zipfile.ZipFile(path) as whole:
        parts = {name: whole.read(name) for name in whole.namelist()}
    with zipfile.ZipFile(path, "w") as damaged:
        for name, part in parts.items():
            damaged.writestr(name, part[:100] if "sheet1" in name else part)
    assert fault(as_table, path, "a").startswith(f"{path} cannot be read (")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    told = f"{path} is an Excel workbook: save it as CSV UTF-8, or pip install openpyxl first"
    assert fault(as_table, path, "a") == told
