"""Regions fit the people they are about, whatever way COCO describes them, and masking changes these pixels alone."""

import io

import numpy as np
import pytest
from PIL import Image

from captionbias.images.masks import mask_image, masked, read_form, read_regions
from captionbias.images.reading import Images, turned
from tests.images.coco_pictures import HEIGHT, WIDTH, annotation, pixels, write_annotations
from tests.refusals import refuses

SIZE = (HEIGHT, WIDTH)


def one_image(seed=0):
    return Images(("42",), [pixels(seed)])


def area(rows, columns):
    region = np.zeros(SIZE, bool)
    region[rows, columns] = True
    return region


PERSON = area(slice(3, 11), slice(2, 8))  # the box of an annotation


def region(folder, *annotations, images=None, size=SIZE, **options):
    path = write_annotations(folder, annotations, size=size)
    return read_regions(path, images or one_image(), **options)[0]


def test_a_share_of_the_things_is_drawn_by_their_places_in_the_file(tmp_path):
    ids = range(400)
    path = write_annotations(tmp_path, [annotation(image) for image in ids], ids=ids)
    pictures = Images(tuple(map(str, ids)), [pixels()] * len(ids))
    tenth, again = (read_regions(path, of, share=0.1).found for of in (pictures, pictures.select(range(200))))
    assert 25 <= tenth.sum() <= 55
    assert again.tolist() == tenth[:200].tolist(), "whichever images are asked for"


def test_polygons_and_run_lengths_also_of_crowds_are_the_same_region(tmp_path):
    shape = PERSON | area(slice(15, 18), slice(20, 29))
    columns = shape.T.reshape(-1)
    runs = np.diff(np.flatnonzero(np.concatenate([[True], columns[1:] != columns[:-1], [True]]))).tolist()
    run_lengths = {"size": list(SIZE), "counts": [0, *runs] if columns[0] else runs}
    polygons = [[2, 3, 8, 3, 8, 11, 2, 11], [20, 15, 29, 15, 29, 18, 20, 18]]
    for outline in (polygons, run_lengths):
        for crowd in (0, 1):
            found = region(tmp_path, annotation(42, crowd=crowd, segmentation=outline))
            assert found.dtype == bool
            np.testing.assert_array_equal(found, shape)


def test_several_people_are_one_region_and_other_things_stay(tmp_path):
    things = [annotation(42), annotation(42, box=(20, 10, 5, 5)), annotation(7)]
    things.append(annotation(42, category=18, box=(10, 0, 4, 4)))
    people, dog = PERSON | area(slice(10, 15), slice(20, 25)), area(slice(0, 4), slice(10, 14))
    np.testing.assert_array_equal(region(tmp_path, *things), people)
    np.testing.assert_array_equal(region(tmp_path, *things, labels=["dog"]), dog)
    np.testing.assert_array_equal(region(tmp_path, *things, labels=["dog", "person"]), dog | people)


def test_the_whole_person_a_part_or_the_box_is_masked(tmp_path):
    for form, rows in {"segment": (3, 11), "top:0.5": (3, 7), "bottom:0.25": (9, 11), "bottom:1": (3, 11)}.items():
        found = region(tmp_path, annotation(42), form=form)
        np.testing.assert_array_equal(found, area(slice(*rows), slice(2, 8)), form)
    without_outline = region(tmp_path, annotation(42, segmentation=[]))
    np.testing.assert_array_equal(without_outline, PERSON, "the box")
    of_each = region(tmp_path, annotation(42), annotation(42, box=(10, 10, 4, 8)), form="top:0.5")
    np.testing.assert_array_equal(of_each, area(slice(3, 7), slice(2, 8)) | area(slice(10, 14), slice(10, 14)))
    for form in ("Box", "top:", "top:0", "top:1.5", "left:0.5"):
        refuses(r"is unknown: give segment, box, or a share of it", read_form, form)


def test_boxes_and_polygons_off_the_edge_are_cut_off_there(tmp_path):
    for box, expected in [
        ((2, 3, 6, 8), PERSON),
        ((25, -5, 20, 8), area(slice(0, 3), slice(25, WIDTH))),
        ((40, 50, 5, 5), area([], [])),
        ((-9, -9, 5, 5), area([], [])),
        ((1.5, 2.2, 2, 2), area(slice(2, 5), slice(1, 4))),
    ]:
        np.testing.assert_array_equal(region(tmp_path, annotation(42, box=box), form="box"), expected)
    over = annotation(42, box=(25, -5, 20, 8))
    np.testing.assert_array_equal(region(tmp_path, over), area(slice(0, 3), slice(25, WIDTH)))


def test_empty_run_lengths_and_images_without_a_person_have_an_empty_region(tmp_path):
    nothing = {"size": list(SIZE), "counts": [HEIGHT * WIDTH]}
    for form in ("segment", "bottom:0.5"):
        assert not region(tmp_path, annotation(42, segmentation=nothing), form=form).any()
    path = write_annotations(tmp_path, [annotation(42), annotation(7, category=18)], ids=(42, 7))
    regions = read_regions(path, Images(("7", "42"), [pixels()] * 2))
    assert regions.found.tolist() == [part.any() for part in regions] == [part.any() for part in regions[:]]
    assert regions.found.tolist() == [False, True]
    assert regions[-1].any()
    assert regions.select([1]).found.tolist() == [regions.select([1])[0].any()] == [True]


@pytest.mark.parametrize("orientation", range(1, 9))
def test_coco_means_images_as_stored_and_regions_fit_the_upright_ones(orientation, tmp_path):
    exif = Image.Exif()
    exif[0x0112] = orientation
    for kind in ("PNG", "TIFF"):
        file = io.BytesIO()
        Image.fromarray(pixels()).save(file, kind, exif=exif)
        images = Images(("42",), [file.getvalue()])
        found = region(tmp_path, annotation(42), images=images)
        np.testing.assert_array_equal(found, turned(PERSON, orientation))
        assert found.shape == images[0].size[::-1]
        top = region(tmp_path, annotation(42), images=images, form="top:0.5")
        np.testing.assert_array_equal(np.flatnonzero(top.any(axis=1))[0], np.flatnonzero(found.any(axis=1))[0])
        assert top.sum() == found.sum() / 2
        if orientation >= 5:  # annotated on the upright image: only that one has the size
            upright = region(tmp_path, annotation(42), images=images, size=(WIDTH, HEIGHT))
            assert upright.shape == (WIDTH, HEIGHT)
            assert upright[3:11, 2:8].all()
            assert upright.sum() == PERSON.sum()


def test_images_are_found_by_file_name_or_by_id(tmp_path):
    path = write_annotations(tmp_path, [annotation(42)])
    path.write_text(path.read_text().replace("COCO_val2014_000000000042", "street"))
    assert read_regions(path, Images(("street", "road"), [pixels()] * 2)).found.tolist() == [True, False]
    assert read_regions(path, Images(("42",), [pixels()])).found.tolist() == [True]


def test_what_is_damaged_or_does_not_fit_the_images_is_named(tmp_path):
    for changed, message in [
        ({"segmentation": [[1, 2, 3]]}, r'annotations\[0\], of image 42: "segmentation" must be polygons'),
        ({"bbox": [1, 2, 3]}, r'annotations\[0\], of image 42: "bbox" is \[1, 2, 3\]: correct it'),
        ({"bbox": [1, 2, "3", 4]}, '"bbox" is'),
        ({"bbox": None}, r'annotations\[0\]: "bbox" is None'),
    ]:
        refuses(message, region, tmp_path, {**annotation(42), **changed})
    fits = r"image 42 has 30 x 20 pixels, but .*json is about one of 60 x 40: give the"
    refuses(fits, region, tmp_path, annotation(42), size=(40, 60))
    path = write_annotations(tmp_path, [annotation(42)])
    found = read_regions(path, Images(("other", "42"), [pixels()] * 2))
    refuses(r"image other is not in instances_val2014.json", found.__getitem__, 0)
    other = Images(("other",), [pixels()])
    refuses("none of the images: their ids are other, its ids 42; give the annotations", read_regions, path, other)
    refuses("does not know the label 'cat': choose from person, dog", read_regions, path, one_image(), ["cat"])
    refuses(r"gone.json does not exist: give COCO's annotations", read_regions, tmp_path / "gone.json", one_image())
    path.write_text(path.read_text()[:-90])
    refuses("is not whole JSON", read_regions, path, one_image())


def test_masking_changes_the_region_alone():
    image = Image.fromarray(pixels())
    for fill in ("mean", "blur", "#12ab00"):
        filled = np.asarray(mask_image(image, PERSON, fill))
        np.testing.assert_array_equal(filled[~PERSON], pixels()[~PERSON])
        assert (filled[PERSON] != pixels()[PERSON]).any(axis=1).mean() > 0.9
    np.testing.assert_array_equal(np.unique(filled[PERSON], axis=0), [[0x12, 0xAB, 0]])
    np.testing.assert_array_equal(image, pixels())


def test_the_mean_is_that_of_what_stays_so_that_nothing_of_the_person_shows():
    shown = pixels()
    filled = mask_image(Image.fromarray(shown), PERSON)
    np.testing.assert_array_equal(filled.getpixel((3, 4)), np.rint(shown[~PERSON].mean(axis=0)))
    shown[PERSON] = 0
    assert mask_image(Image.fromarray(shown), PERSON).tobytes() == filled.tobytes()
    everything = np.ones(SIZE, bool)
    assert mask_image(Image.fromarray(shown), everything).getcolors() == [(HEIGHT * WIDTH, (128, 128, 128))]


def test_images_are_masked_when_they_are_asked_for_and_what_cannot_be_masked_is_refused(tmp_path):
    path = write_annotations(tmp_path, [annotation(42), annotation(7, category=18)], ids=(42, 7))
    images = Images(("42", "7"), [pixels(), pixels(1)])
    hidden = masked(images, read_regions(path, images), "#000000")
    assert hidden.ids == images.ids
    assert not np.asarray(hidden[0])[PERSON].any()
    np.testing.assert_array_equal(np.asarray(hidden.select([0])[0])[~PERSON], pixels()[~PERSON])
    refuses("image 7 has nothing to mask: leave it out", hidden.__getitem__, 1)
    refuses("regions has length 1, images 2", masked, images, [PERSON])
    for fill in ("median", "#12ab0", "red", "#12ab0g", "#12ab00\n"):
        unknown = r"fill .* is unknown: give mean, blur or a colour such as #808080"
        refuses(unknown, mask_image, images[0], PERSON, fill)
    for wrong in (PERSON.T, PERSON.astype(float), PERSON[0]):
        shape = "image 9 is 20 pixels high and 30 wide, but its region has the shape"
        refuses(shape, mask_image, images[0], wrong, name="image 9")
