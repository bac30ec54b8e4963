"""What the columns are called that captions are made of, as arguments and in files."""

import re

SIDES = ("predictions", "references")
PEOPLE = ("references", "attributes", "tasks", "weights", "scene")  # known of images, whatever the captioner
MEASURED = ("predictions", *PEOPLE)  # by metrics, whose scores no image's name changes
COLUMNS = (*MEASURED, "image_ids")

# Every argument that names a column of a file, and the argument that the column is read for.
IN_FILES = {
    "id_column": "image_ids",
    "prediction_column": "predictions",
    "reference_column": "references",
    "attribute_column": "attributes",
    "task_column": "tasks",
    "weight_column": "weights",
    "scene_column": "scene",
}

USUAL_ID = "image_id"
DRAWN_OF = "drawn_of"  # of how many images the rows are a sample
VALUE = "value"  # what a file that is not a table says of each image
# Names to guess by, in the order of how sure they are: one table may have several of them.
NAMES = {
    "id_column": (
        *(USUAL_ID, "img_id", "cocoid", "coco_id", "file_name", "filename", "image_name", "image", "img", "imgid"),
        *("custom_id", "uid", "id", "index", "url", "image_url"),
    ),
    "prediction_column": (
        *("prediction", "predictions", "generated_caption", "generated", "model_caption", "hypothesis", "response"),
        *("pred", "vlm_caption", "filtered_resps", "outputs", "caption", "captions", "text", VALUE),
    ),
    "reference_column": (
        *("references", "reference", "refs", "human_captions", "human_caption", "human", "humans", "people"),
        *("reference_strs", "ground_truth", "gt", "gts", "captions", "caption_list", "caption", "caption_str"),
        *("short_caption", "sentences", "comment", "text", VALUE),
    ),
    "attribute_column": (
        *("attribute", "gender", "bb_gender", "sex", "skin", "bb_skin", "race", "age", "emotion", "label"),
        *("attributes", VALUE),
    ),
    "task_column": (
        *("tasks", "task", "objects", "rmdup_obj_list", "rmdup_object_list", "categories", "labels", VALUE),
    ),
    "weight_column": ("weight", "weights"),
    "scene_column": (),  # it is named: a column "scene" mostly says what kind of place an image shows
}


def plain_name(name: str) -> str:
    """The name as we write it: human_captions for "Human Captions"."""
    return re.sub(r"[\s-]+", "_", str(name).strip().lower())
