"""Files are joined by image id, in the order of the predictions, and what is left out is noted."""

import json
import warnings
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from captionbias.captions import CaptionBiasWarning, read_captions
from captionbias.captions.texts import canonical_order
from captionbias.captions.values import image_keys


def of(columns, *rows):
    return [dict(zip(columns.split(), row, strict=True)) for row in rows]


def notes_of(noted):
    return [str(warning.message) for warning in noted]


@pytest.mark.usefixtures("no_warnings")
def test_coco_captions_are_grouped_by_image(tmp_path, write):
    captions = [(7, "a woman"), (42, "a man"), (7, "a lady"), (42, "a guy"), (7, "a dog")]
    annotations = of("id image_id caption", *((n, *annotation) for n, annotation in enumerate(captions)))
    references = tmp_path / "captions_val2014.json"
    references.write_text(json.dumps({"images": of("id file_name", (42, "a"), (7, "b")), "annotations": annotations}))
    results = write(tmp_path / "results.json", of("image_id caption", (42, "m"), (7, "w")))
    labels = write(tmp_path / "labels.csv", of("image_id attribute", (7, "f"), (42, "m")))
    captions = read_captions(predictions=results, references=references, attributes=labels)
    assert captions.references == canonical_order([["a woman", "a lady", "a dog"], ["a man", "a guy"]], once=False)
    assert (captions.attributes, captions.tasks) == (("f", "m"), None)
    alone = read_captions(references=references, attributes=labels)
    assert (alone.image_ids, alone.predictions) == (("7", "42"), None)


def test_the_objects_of_coco_s_instances_are_tasks_and_an_image_that_is_not_listed_is_left_out(tmp_path, fault):
    shown = [(9, 3), (7, 1), (9, 2), (9, 3), (9, 1)]  # image and category, one of them twice
    annotations = of("image_id category_id segmentation", *((*one, [[1, 2, 3, 4, 5, 6]]) for one in shown))
    categories = of("id name", (1, "person"), (2, "hot dog"), (3, "cake"))
    given = {"predictions": {"image_id": [7, 9, 10], "caption": ["a man", "a girl", "a dog"], "attribute": [*"mfm"]}}
    given["tasks"] = path = tmp_path / "instances.json"
    images = [{"id": 9}, {"id": 7}, {"id": 8}]
    path.write_text(json.dumps({"images": images, "annotations": annotations, "categories": categories}))
    with pytest.warns(CaptionBiasWarning) as noted:
        captions = read_captions(**given)
    assert (captions.image_ids, captions.tasks) == (("7", "9"), ((), ("hot dog", "cake")))
    assert notes_of(noted) == [f"1 of 3 images have no entry in {path} and are left out (first: 10)"]
    path.write_text(json.dumps({"images": images, "annotations": annotations[1:2], "categories": categories[:1]}))
    told = f"{path} has no category beside people: give COCO's instances_*.json"
    assert fault(read_captions, **given).startswith(told)


@pytest.mark.usefixtures("no_warnings")
def test_long_form_groups_captions_labels_and_tasks(tmp_path, write):
    rows = [(1, "a", "m", "dog"), (2, "b", "f", ""), (1, "c", "", "cat"), (1, "d", "m ", "dog")]
    captions = read_captions(references=write(tmp_path / "long.csv", of("image_id caption attribute tasks", *rows)))
    assert (captions.references, captions.attributes) == ((("a", "c", "d"), ("b",)), ("m", "f"))
    assert captions.tasks == (("dog", "cat"), ())


def test_among_lists_of_tasks_an_empty_one_is_none_and_a_missing_one_leaves_the_image_out(tmp_path, write):
    predictions = write(tmp_path / "p.csv", of("image_id caption attribute", *((i, "a", "mfmf"[i]) for i in range(4))))
    for ending in ("csv", "jsonl", "parquet"):
        lists = [None, ["hot dog"], [], None]
        path = write(tmp_path / f"objects.{ending}", of("image_id objects", *enumerate(lists)))
        with pytest.warns(CaptionBiasWarning) as noted:
            captions = read_captions(predictions=predictions, tasks=path)
        assert (captions.image_ids, captions.tasks) == (("1", "2"), (("hot dog",), ()))
        assert notes_of(noted) == [f"2 of 4 images have no entry in {path} and are left out (first: 0, 3)"]


@pytest.mark.parametrize(
    ("side", "rows", "message"),
    [
        ("references", [(1, "a", "m"), (1, "b", "f")], "attributes: image 1 has no label in "),
        ("references", [(1, "a", "1"), (2, 3, "2"), (2, "b", "2")], "references[1][0]"),
        ("references", [(1, [], "m"), (2, [], "f")], "references has no caption"),
        ("predictions", [(7, "a", "m", 1), ("7.0", "b", "m", 2)], "weights: that of image 7 is both 1.0 and 2.0 in "),
    ],
)
def test_rows_that_contradict_or_lack_something_are_refused(tmp_path, write, fault, side, rows, message):
    columns = ["image_id", "caption", "attribute", "weight"][: len(rows[0])]
    path = write(tmp_path / "a.json", of(" ".join(columns), *rows))
    assert fault(read_captions, **{side: path}).startswith(message)


def test_images_on_one_side_are_left_out_with_one_warning_for_each_cause(tmp_path, write):
    predictions = write(tmp_path / "p.json", of("image_id caption", *((i, "x") for i in range(10))))
    rows = [(i, [] if i in (3, 4) else ["y"], "mf"[i % 2]) for i in range(2, 12)]
    people = write(tmp_path / "people.parquet", of("image_id references attribute", *rows))
    tasks = write(tmp_path / "t.json", of("image_id tasks", *((i, ["dog"]) for i in range(20) if i != 9)))
    with pytest.warns(CaptionBiasWarning) as noted:
        captions = read_captions(predictions=predictions, references=people, tasks=tasks)
    assert captions.image_ids == ("2", "5", "6", "7", "8")
    assert notes_of(noted) == [
        "4 of 10 images have no human captions and are left out (first: 0, 1, 3 and 1 more)",
        f"1 of 6 images have no entry in {tasks} and are left out (first: 9)",
        "2 of 8 images with human captions have no prediction and are left out (first: 10, 11)",
    ]
    assert {warning.filename for warning in noted} == {__file__}
    with pytest.warns(CaptionBiasWarning) as noted:
        assert len(read_captions(references=people)) == 8
    assert notes_of(noted) == ["2 of 10 images have no human captions and are left out (first: 3, 4)"]


PEOPLE = {"image_id": [1, 2, 3], "references": [["a dog"], ["a cat"], ["a cow"]], "sex": ["f", "m", "f"]}
WEIGHTED = pytest.mark.parametrize(("name", "options"), [("Weight", {}), ("times", {"weight_column": "times"})])


@pytest.mark.parametrize("ending", ["tsv", "json", "parquet"])
@WEIGHTED
def test_weights_are_joined_like_labels_and_a_guess_is_told(tmp_path, write, ending, name, options):
    rows = of(f"image_id references sex {name}", (3, ["a cow"], "f", 0.5), (1, ["a dog"], "f", 2), (2, ["cat"], "m", 1))
    people = write(tmp_path / f"people.{ending}", rows)
    said = write(tmp_path / f"said.{ending}", of("image_id caption", (1, "a"), (2, "b"), (3, "c")))
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        captions = read_captions(predictions=said, references=people, attribute="sex", **options)
    assert captions.weights == (2.0, 1.0, 0.5)
    guess = f"guessed: weights from '{name}' of {people}; name the columns if this is wrong"
    assert notes_of(noted) == ([] if options else [guess])


@pytest.mark.parametrize("weight", [0, -1, "heavy", None, float("inf")])
@WEIGHTED
def test_what_is_no_weight_names_the_image_and_the_way_out(weight, name, options, fault):
    table = {**PEOPLE, "caption": ["a", "b", "c"], name: [1, weight, 1]}
    assert fault(read_captions, table, attribute="sex", **options) == (
        f"weights: that of image 2 is {weight!r} in '{name}' of table: give each image one number above 0, leave it "
        "out, or read none (weight_column='')"
    )
    unread = ({"weight": ["heavy", "light", "1"]}, {}), ({"weight": [2, 1, 3]}, {"weight_column": ""})
    for column, chosen in unread:
        assert read_captions(PEOPLE | {"caption": [*"abc"]} | column, attribute="sex", **chosen).weights is None


@pytest.mark.usefixtures("no_warnings")  # every metric notes it
@pytest.mark.parametrize("ending", ["csv", "json", "jsonl", "parquet"])
def test_several_captions_of_an_image_are_samples(tmp_path, write, ending):
    people = write(tmp_path / "people.json", PEOPLE)
    samples = canonical_order([["a man", "a guy"], ["a cat", "a dog"], ["a cow"]], once=False)
    for rows in (
        [(1, "a man"), (2, "a cat"), (1, "a guy"), (3, "a cow"), (2, "a dog")],
        [(1, ["a man", "a guy"]), (3, ["a cow"]), (2, ["a cat", "a dog"])],
    ):
        said = write(tmp_path / f"sat.{ending}", of("image_id caption", *rows))
        captions = read_captions(predictions=said, references=people, attribute="sex")
        assert (captions.predictions, captions.samples) == (tuple(texts[0] for texts in samples), samples)


@pytest.mark.usefixtures("no_warnings")
def test_what_stands_in_many_rows_of_an_image_is_read_once():
    rows = {"image_id": [1, 1, 2], "caption": ["a", "a", "b"], "refs": ["x y", "x z", "u"], "sex": ["f", "f", "m"]}
    captions = read_captions(rows, attribute="sex", reference_column="refs")
    assert (captions.predictions, captions.samples, captions.references) == (("a", "b"), None, (("x z", "x y"), ("u",)))
    people = {"a": ["a man", "a guy"], "b": ["a woman", "a lady"]}
    rows = {"image_id": [*"aabb"], "caption": ["1 a", "2 a", "1 b", "2 b"], "sex": [*"mmff"]}
    captions = read_captions({**rows, "references": [people[image] for image in "aabb"]}, attribute="sex")
    assert captions.references == canonical_order(people.values(), once=False)
    assert captions.samples == canonical_order([["1 a", "2 a"], ["1 b", "2 b"]], once=False)


def test_no_image_in_common_shows_ids_of_each_side_and_what_would_match(tmp_path, people, write, fault):
    predictions = write(tmp_path / "p.json", [{"image_id": f"img_{i}", "caption": "x"} for i in range(9)])
    message = fault(read_captions, predictions=predictions, references=people)
    assert "(images img_0, img_1 and 7 more)" in message
    assert "(images 7, 9223372036854775807 and 1 more) have no image in common" in message
    assert "192, 192.jpg, 000000000192 and COCO_val2014_000000000192.jpg are one image" in message


def test_an_id_is_one_image_however_it_is_written_and_fractions_are_their_own():
    coco = "COCO_val2014_000000000042.jpg"
    whole = [42, 42.0, "42", " 42.0", np.int64(42), "42.jpg", "42.jpg#0", "000000000042"]
    whole += [coco, f"https://a.b/val2014/{coco}?x=1"]
    assert set(image_keys("image_ids", whole)) == {"42"}
    assert image_keys("image_ids", [42.5, 42.25, np.float32(1.5), "42.5"]) == ["42.5", "42.25", "1.5", "42.5"]


@pytest.mark.usefixtures("no_warnings")
def test_ids_are_equal_as_text(tmp_path, write):
    left = write(tmp_path / "a.json", [{"image_id": i, "caption": f"of {i}"} for i in (42, "7", 9.0, "x.jpg")])
    right = tmp_path / "b.csv"
    right.write_text("image_id,references,attribute\nx.jpg,a,f\n9,b,m\n7.0,c,m\n 42,d,f\n")
    captions = read_captions(predictions=left, references=right)
    assert captions.image_ids == ("7", "9", "x", "42")
    assert captions.predictions == ("of 7", "of 9.0", "of x.jpg", "of 42")
    assert captions.references == (("c",), ("b",), ("a",), ("d",))


@pytest.mark.usefixtures("no_warnings")
@pytest.mark.parametrize(
    ("ids", "other"),
    [
        (["http://a/1.jpg?key=x", "http://a/2.jpg?key=x"], ["http://a/1.jpg", "http://a/2.jpg?key=y"]),
        (["nurse_1.png", "nurse_2.png"], ["nurse_1", "nurse_2"]),
        (["x.jpg", "x.png"], ["x.jpg", "x.png"]),
        (["http://a/get.jpg?id=1", "http://a/get.jpg?id=2"], ["http://a/get.jpg?id=1", "http://a/get.jpg?id=2"]),
    ],
)
def test_a_suffix_and_what_follows_a_question_mark_tell_images_apart_where_nothing_else_does(ids, other):
    said = {"image_id": ids, "caption": ["a", "b"], "attribute": ["f", "m"]}
    captions = read_captions(predictions=said, references={"image_id": other, "references": [["x"], ["y"]]})
    assert captions.references == (("x",), ("y",))


def test_numbers_of_captions_are_not_taken_for_those_of_images(tmp_path, write):
    """COCO's captions have a number each, as `id`, which is what the predictions call the image's."""
    said = write(tmp_path / "said.json", of("id caption attribute", *((i, "x", "fm"[i % 2]) for i in range(10))))
    people = of("id image_id caption", *((n, 9 - n // 2, f"of {9 - n // 2}") for n in range(18)))
    captions = read_captions(predictions=said, references=write(tmp_path / "people.json", people), id_column="id")
    assert captions.references == tuple((f"of {image}", f"of {image}") for image in range(1, 10))


SAID = {"image_id": [1, 2, 3, 4], "caption": ["a", "b", "c", "d"]}
VOTES = [(1, "f"), (1, "m"), (1, "f"), (2, "m"), (3, "m"), (3, "f"), (3, "unsure"), (3, "f"), (4, None), (4, "m")]
LISTS = [["f", "m", "f"], ["m"], ["m", "f", "unsure", "f"], [None, "m"]]
IN_COLUMNS = [(image, *votes, *[None] * (4 - len(votes))) for image, votes in enumerate(LISTS, 1)]


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        *(("image_id gender", rows) for rows in (VOTES, VOTES * 2, [*enumerate(LISTS, 1)])),
        ("image_id Gender_1 Gender_2 Gender_3 Gender_4", IN_COLUMNS),
    ],
    ids=["rows", "rows twice", "lists", "columns"],
)
def test_of_votes_the_majority_counts_and_an_image_without_one_is_left_out(tmp_path, write, columns, rows):
    for ending in ("csv", "jsonl", "parquet"):
        labels = write(tmp_path / f"labels.{ending}", of(columns, *rows))
        with pytest.warns(CaptionBiasWarning) as noted:
            captions = read_captions(predictions=SAID, attributes=labels, attribute="gender")
        assert (captions.image_ids, captions.attributes) == (("1", "2", "4"), ("f", "m", "m"))
        told = (
            f"2 of 4 images have several labels in 'gender' of {labels} (first: 1, 3): the majority counts; 1 without "
        )
        assert notes_of(noted)[0] == f"{told}one are left out"


BOXES = {"image_id": [1, 1, 1, 2, 2, 3, 4, 4, 4], "gender": [*"ffmmmfffm"]}


@pytest.mark.parametrize(
    ("beside", "of_images"),
    [
        ({}, ["f", "m", "f", "f"]),  # votes
        ({"person_id": [1, 1, 1, 2, 2, 3, 4, 4, 4], "annotator": range(9)}, ["f", "m", "f", "f"]),
        ({"XMin": range(9), "YMin": [0] * 9}, ["m", "f"]),
        ({"bbox": [[number, 0, 9, 9] for number in range(9)]}, ["m", "f"]),
        ({"IsGroupOf": [0] * 9}, ["m", "f"]),
        ({"person_id": [1, 1, 1, 2, 3, 4, 5, 5, 6]}, ["f", "m", "f"]),
    ],
)
def test_of_boxes_of_several_labels_an_image_is_left_out_and_votes_on_one_person_are_counted(beside, of_images):
    with pytest.warns(CaptionBiasWarning) as noted:
        captions = read_captions(predictions=SAID, attributes=BOXES | beside, attribute="gender")
    assert [*captions.attributes] == of_images
    if left_out := 4 - len(of_images):
        told = (
            f"{left_out} of 4 images show persons of several labels in 'gender' of attributes and are left out (first: "
        )
        assert any(text.startswith(told) for text in notes_of(noted))


@pytest.mark.parametrize(
    "dates", [["9-Mar", "3-Sep"], ["Mar-9", "09-Mar"], [datetime(2026, 3, 9), "2026-09-03 00:00:00"]]
)
def test_ranges_that_a_spreadsheet_made_dates_of_are_read_back(dates):
    labels = {"image_id": SAID["image_id"], "age": [*dates, "3-9", "20-29"]}
    with pytest.warns(CaptionBiasWarning, match="dates that a spreadsheet made of ranges, read as 3-9"):
        captions = read_captions(predictions=SAID, attributes=labels, attribute="age")
    assert captions.attributes == ("3-9", "3-9", "3-9", "20-29")


@pytest.mark.parametrize(
    "column", [None, "gender_presentation", "gender_presentation_fem", "gender_presentation_non_binary"]
)
@pytest.mark.parametrize("cells", [[0, 1, None], [0.0, 1.0, np.nan], ["0", "1", ""], [False, True, False]])
def test_columns_of_flags_of_which_a_row_has_one_are_its_label(column, cells):
    no, yes, none = cells
    names = ["masc", "fem", "non_binary", "na"]
    rows = [[yes, no, no, none], [no, yes, none, no], [no, no, yes, no], [none, no, no, no]]
    flags = {
        f"gender_presentation_{name}": [*column] for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }
    options = {"attribute": "gender", "attribute_column": column}
    with pytest.warns(CaptionBiasWarning, match="read from columns of 0 and 1, of fem, masc, non_binary, unknown"):
        captions = read_captions(predictions=SAID, attributes={"image_id": SAID["image_id"], **flags}, **options)
    assert captions.attributes == ("masc", "fem", "non_binary", "unknown")
    several = {name: [1, *cells[1:]] for name, cells in flags.items()}
    captions = read_captions(
        predictions=SAID, attributes=several | {"image_id": [1, 2, 3, 4], "gender": [*"mfmf"]}, attribute="gender"
    )
    assert captions.attributes == ("m", "f", "m", "f")


@pytest.mark.parametrize("as_list", [False, True])
def test_class_labels_have_the_names_that_datasets_wrote_into_parquet(tmp_path, as_list):
    feature = {"names": ["m", "f"], "_type": "ClassLabel"}
    kept = {"info": {"features": {"gender": {"feature": feature, "_type": "List"} if as_list else feature}}}
    columns = {"image_id": [1, 2, 3, 4], "gender": [[n] if as_list else n for n in (0, 1, 1, 0)]}
    table = pa.table(columns).replace_schema_metadata({"huggingface": json.dumps(kept)})
    pq.write_table(table, tmp_path / "labels.parquet")
    for labels in (table, tmp_path / "labels.parquet"):
        assert read_captions(predictions=SAID, attributes=labels, attribute="gender").attributes == ("m", "f", "f", "m")


def test_of_a_crossing_each_attribute_has_its_own_votes(fault):
    labels = {"image_id": [1, 2, 3, 4], "gender": LISTS, "skin": ["dark", ["light"], "dark", ["dark", "light"]]}
    with pytest.warns(CaptionBiasWarning, match="several labels"):
        captions = read_captions(predictions=SAID, attributes=labels, attribute=["gender", "skin"])
    assert captions.attributes == ("f, dark", "m, light")
    labels = {"image_id": [1, 2], "gender": [["f", ["m"]], ["f"]]}
    assert fault(read_captions, predictions=SAID, attributes=labels, attribute="gender") == (
        "attributes: that of image 1 is of type list in 'gender' of attributes: give a text"
    )


def test_only_the_labels_named_are_used(tmp_path, write, fault):
    labels = ["Male", "Female", "Both", None, " Male ", "", "Female"]
    rows = of("image_id caption attribute", *((i, "x", label) for i, label in enumerate(labels)))
    path = write(tmp_path / "a.json", rows)
    with pytest.warns(CaptionBiasWarning) as noted:
        captions = read_captions(predictions=path, keep=["Male", "Female"])
    assert captions.image_ids == ("0", "1", "4", "6")
    assert captions.attributes == ("Male", "Female", "Male", "Female")
    assert notes_of(noted) == [
        f"2 of 7 images have no label in 'attribute' of {path} and are left out (first: 3, 5)",
        "1 of 7 images have another label than those to keep and are left out (first: 2)",
    ]
    for keep, message in (
        (None, "attributes: 2 of 7 images have no label in"),
        (["Male", "f"], f"keep names 'f', which is not a label in 'attribute' of {path}: it has 'Both', "),
        ("Male", "keep is 'Male': give a list of labels"),
    ):
        assert fault(read_captions, predictions=path, keep=keep).startswith(message)


def test_one_file_without_ids_is_read_row_by_row(tmp_path, write):
    rows = of("caption references attribute", ("a", ["x"], "m"), ("b", [], "f"), ("c", ["z"], "f"))
    path = write(tmp_path / "a.parquet", rows)
    (tmp_path / "folder").mkdir()
    elsewhere = tmp_path / "folder" / ".." / "a.parquet"
    with pytest.warns(CaptionBiasWarning, match=r"^1 of 3 images have no human captions .*\(first: row 1\)$"):
        captions = read_captions(predictions=path, references=elsewhere)
    assert (captions.predictions, captions.image_ids) == (("a", "c"), ("row 0", "row 2"))
