"""What the columns are called that captions are made of, as arguments and in files."""

SIDES = ("predictions", "references")
PEOPLE = ("references", "attributes", "tasks", "weights")  # what is known of the images, whatever the captioner
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
}
