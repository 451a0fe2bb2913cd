import math
from typing import Any

import pytest
import torch

from attention_theory.looped_transformers.subleq.conformance import conformance
from attention_theory.looped_transformers.subleq.exact_domain import (
    follow,
    least_inverse_temperature,
    noise_before_correction,
    noise_bound,
    sufficient_inverse_temperature,
)
from attention_theory.looped_transformers.subleq.language import program, random_program
from attention_theory.looped_transformers.subleq.machine import Depth, SubleqMachine
from attention_theory.validation import ParameterError


@pytest.mark.parametrize("by", ["runner", "layers"])
def test_the_temperature_found_works_and_the_one_below_does_not(by: Any) -> None:
    machine = SubleqMachine(4, 6, rounded_reads=False)
    programs = [random_program(4, 8, 6, seed) for seed in range(8)]
    found = least_inverse_temperature(machine, programs, 8, by=by)
    assert conformance(machine, programs, 8, found, by=by).wrong == 0
    assert conformance(machine, programs, 8, found - 0.05, by=by).wrong > 0
    assert all(conformance(machine, programs, 8, found + more, by=by).wrong == 0 for more in (0.3, 1.0, 5.0))


def test_float32_has_no_temperature_for_long_integers() -> None:
    machine = SubleqMachine(4, 26, dtype=torch.float32)
    programs = [random_program(4, 8, 26, seed) for seed in range(4)]
    assert least_inverse_temperature(machine, programs, 8, by="layers") == math.inf


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("depth", [10, 6])
def test_with_ramps_at_the_reads_one_temperature_is_enough_for_every_length(depth: Depth, dtype: torch.dtype) -> None:
    for bits in (4, 16, 23) if dtype == torch.float32 else (4, 16, 40):
        programs = [random_program(4, 8, bits, seed) for seed in range(3)]
        enough = math.log(16 * 5) / 2
        assert conformance(SubleqMachine(4, bits, depth, dtype=dtype), programs, 8, enough, by="layers").wrong == 0


@pytest.mark.parametrize("depth", [10, 6, 4])
@pytest.mark.parametrize(("address_bits", "bits"), [(3, 4), (4, 8), (6, 6)])
def test_at_the_proved_temperature_noise_is_below_its_bound(depth: Depth, address_bits: int, bits: int) -> None:
    enough = sufficient_inverse_temperature(bits, address_bits, depth)
    machine, cells = SubleqMachine(address_bits, bits, depth, rounded_reads=False), 2 ** (address_bits - 1)
    for seed in range(6):
        source = random_program(cells - 3, cells - 1, bits, seed)
        assert conformance(machine, [source], 8, enough, by="layers").wrong == 0
        for inverse_temperature in (enough, enough + 1):
            noise = noise_before_correction(machine, source, inverse_temperature, 8).max()
            assert noise <= noise_bound(bits, address_bits, depth, inverse_temperature) + 1e-9


@pytest.mark.parametrize("depth", [10, 6])
def test_near_zero_the_bound_would_be_small_and_the_noise_is_not(depth: Depth) -> None:
    """``λ exp(-2 λ)`` vanishes at 0 as well, where a head attends to all columns alike: no bound is given there."""
    source = random_program(6, 5, 4, seed=0)
    machine = SubleqMachine(4, 4, depth, rounded_reads=False)
    assert noise_before_correction(machine, source, 1e-6, 4).max() > 0.25
    with pytest.raises(ParameterError, match="inverse_temperature"):
        noise_bound(4, 4, depth, 1e-6)


@pytest.mark.parametrize("depth", [10, 6, 4])
def test_the_proved_temperature_is_where_the_bound_reaches_the_margin(depth: Depth) -> None:
    enough = sufficient_inverse_temperature(12, 5, depth)
    assert noise_bound(12, 5, depth, enough) <= 0.25 < noise_bound(12, 5, depth, enough - 0.01)
    more = sufficient_inverse_temperature(32, 5, depth) - enough
    each = math.log(2) if depth == 10 else math.log(2) / 2
    assert 20 * each - 0.05 <= more <= 20 * each + 0.5


def test_without_rounding_real_rows_drift_and_with_it_they_do_not() -> None:
    """An endless loop; where it goes wrong without rounding was found by a program that shares no code with this."""
    endless = program([5, -5, 100, 0], [(2, 4, 1), (3, 4, 2), (5, 5, 0)])
    drifting = SubleqMachine(4, 8, depth=4, real=True, rounded=False)
    found = {lam: follow(drifting, endless, lam, 300).first_wrong for lam in (5.0, 6.0, 7.0, 8.0)}
    assert found == {5.0: 11, 6.0: 35, 7.0: 101, 8.0: 281}
    depths: tuple[Depth, ...] = (4, 10)
    for depth in depths:
        heat = sufficient_inverse_temperature(8, 4)
        run = follow(SubleqMachine(4, 8, depth, real=True), endless, heat, 400)
        assert run.first_wrong is None
        assert run.off < 1e-12
    with pytest.raises(ParameterError, match="real"):
        follow(SubleqMachine(4, 8), endless, 8.0, 10)
