"""Products by two threads: equal to those by one."""

import threading

import numpy as np
import pytest

from dpmath.joint import products

SHAPES = [((0, 3), (3, 2)), ((1, 3), (3, 2)), ((7, 3), (3,)), ((8, 0), (0, 2)), ((8, 5), (5, 0)), ((9, 4), (4, 6))]


@pytest.mark.theorem("HV-E3")
@pytest.mark.parametrize("least", [0, products._WORTH_A_THREAD])
@pytest.mark.parametrize(("of_left", "of_right"), SHAPES)
def test_products_are_those_of_the_whole_matrices(
    of_left: tuple[int, ...], of_right: tuple[int, ...], least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "_WORTH_A_THREAD", least)
    rng = np.random.default_rng(1)
    left, right = (rng.integers(-9, 9, shape).astype(float) for shape in (of_left, of_right))
    assert np.array_equal(products.product(left, right), left @ right)
    turned = np.asfortranarray(left)
    assert np.array_equal(products.product(turned, right), left @ right)


@pytest.mark.theorem("HV-E3")
def test_large_products_are_shared_by_two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: dict[int, int] = {}
    matmul = np.matmul

    def noted(left: np.ndarray, right: np.ndarray, found: np.ndarray) -> np.ndarray:
        rows[threading.get_ident()] = len(left)
        return matmul(left, right, found)

    monkeypatch.setattr(np, "matmul", noted)
    rng = np.random.default_rng(2)
    left, right = rng.normal(size=(401, 500)), rng.normal(size=(500, 100))
    assert products.product(left, right) == pytest.approx(left @ right)
    assert sorted(rows.values()) == [200, 201]


@pytest.mark.theorem("HV-E3")
@pytest.mark.parametrize("least", [0, products._WORTH_A_THREAD])
@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (8, 0), (9, 4), (2 * products._AT_ONCE + 5, 3)])
def test_a_product_of_a_matrix_with_itself(shape: tuple[int, int], least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "_WORTH_A_THREAD", least)
    columns = np.random.default_rng(3).integers(-9, 9, shape).astype(float)
    for one in (columns, np.asfortranarray(columns)):
        assert np.array_equal(products.gram(one), columns.T @ columns)
        weight = (np.arange(shape[0]) % 4).astype(float)
        assert np.allclose(products.gram(one, weight), columns.T @ (weight[:, None] * columns), rtol=1e-12)


def test_an_error_of_the_other_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    here, matmul = threading.get_ident(), np.matmul

    def failing(left: np.ndarray, right: np.ndarray, found: np.ndarray) -> np.ndarray:
        if threading.get_ident() != here:
            raise MemoryError("no memory is left")
        return matmul(left, right, found)

    monkeypatch.setattr(products, "_WORTH_A_THREAD", 0)
    monkeypatch.setattr(np, "matmul", failing)
    with pytest.raises(MemoryError, match="no memory"):
        products.product(np.zeros((4, 3)), np.zeros((3, 2)))
