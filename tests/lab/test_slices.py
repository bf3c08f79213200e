from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from slices import for_labs


def left(*cells: str) -> list[str]:
    notebook = new_notebook(cells=[new_markdown_cell("text"), *map(new_code_cell, cells)])
    cut = for_labs(notebook)
    assert [cell.source for cell in cut.cells if cell.cell_type == "markdown"] == ["text"]
    return [cell.source for cell in cut.cells if cell.cell_type == "code"]


def test_what_a_lab_asks_for_stays_and_what_that_asks_for():
    cells = ("a = 1", "b = a + 1", "c = 3", "from heed.labs import ALab", "ALab(b)", "d = b")
    assert left(*cells) == ["a = 1", "b = a + 1", "from heed.labs import ALab", "ALab(b)"]


def test_what_is_changed_in_place_is_changed():
    cells = ("a = []", "a.append(1)", "a[0].text = 2", "len(a)", "ALab(a)", "a.append(3)")
    assert left(*cells) == ["a = []", "a.append(1)", "a[0].text = 2", "ALab(a)"]


def test_a_name_given_anew_is_not_what_it_was():
    assert left("a = 1", "a = 2", "ALab(a)") == ["a = 2", "ALab(a)"]
    assert left("a = 1", "a = a + 2", "ALab(a)") == ["a = 1", "a = a + 2", "ALab(a)"]


def test_names_inside_a_loop_a_function_or_a_comprehension_are_its_own():
    loop = "for x in b:\n    y = x\n    c.append(y)"
    assert left("x = 1", "y = 2", "c = []", "b = [3]", loop, "ALab(c)") == [
        *("c = []", "b = [3]", loop, "ALab(c)")
    ]
    function = "def f(x):\n    y = x\n    return y + z"
    assert left("x = 1", "y = 2", "z = 3", function, "ALab(f(4))") == [
        *("z = 3", function, "ALab(f(4))")
    ]
    assert left("x = 1", "b = [x for x in c]", "ALab(b)") == ["b = [x for x in c]", "ALab(b)"]
