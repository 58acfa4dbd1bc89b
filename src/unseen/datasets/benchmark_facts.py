"""What is known of the benchmarks: their classes, their splits, and what ImageNet has seen.

Sources. Class lists, counts and digests: the ``att_splits.mat`` and ``testclasses.txt`` of xlsa17
(Xian et al., TPAMI 2018, splits of 2019) and AwA's own ``testclasses.txt``. ImageNet's names: the
1,000 classes of ILSVRC 2012. A class is listed as known to ImageNet when its own name is one of
ImageNet's names for a class ("pig" is in "hog, pig, grunter, squealer"); relatives ("wolf" beside
"timber wolf") are not counted. CUB's standard split (Akata et al., 2013) is read from the order of
xlsa17's ``allclasses_names``: 150 classes by number, then 50 by number. These 50 have 2,933 rows and
the others 8,855, the sizes that Xian et al. (TPAMI 2018) and Reed et al. (2016) state for that split.
Not verified here: the standard split of SUN, for which no class list was at hand, and SUN's and
aPascal's overlap with ImageNet beyond equal names.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Benchmark:
    """One public benchmark.

    ``classes`` and ``ps_unseen`` are digests of class lists (:func:`digest`); ``ps_rows`` are the
    sizes of the proposed split's train, test_seen and test_unseen, by the number of all rows.
    """

    name: str
    classes: str
    ps_unseen: str
    ps_rows: dict[int, tuple[int, int, int]]
    ss_unseen: frozenset[str] = frozenset()
    imagenet: frozenset[str] = frozenset()


def normal(name: object) -> str:
    """Return a class name without regard to case and to how its words are joined.

    Examples
    --------
    >>> normal("Giant+Panda") == normal("giant panda")
    True
    """
    return re.sub(r"[\s+\-]+", "_", str(name).strip().lower())


def digest(names: Iterable[object]) -> str:
    """Return a short fingerprint of a set of class names, whatever their order."""
    joined = "\n".join(sorted(normal(n) for n in names))
    return hashlib.sha256(joined.encode()).hexdigest()[:16]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


AWA = Benchmark(
    name="AwA",
    classes="9838a1e7c4f0ec83",
    ps_unseen="c074c61a1810c3a7",
    ps_rows={30475: (19832, 4958, 5685), 37322: (23527, 5882, 7913)},
    ss_unseen=_names(
        "chimpanzee giant_panda leopard persian_cat pig hippopotamus humpback_whale raccoon rat seal"
    ),
    imagenet=_names(
        "killer_whale beaver dalmatian persian_cat german_shepherd siamese_cat skunk tiger "
        "hippopotamus leopard spider_monkey gorilla ox chimpanzee hamster otter zebra giant_panda "
        "pig lion polar_bear collie weasel chihuahua"
    ),
)
CUB = Benchmark(
    name="CUB",
    classes="60d1da4b4cd82624",
    ps_unseen="ea5622571a7ff9d4",
    ps_rows={11788: (7057, 1764, 2967)},
    ss_unseen=_names(
        "001.black_footed_albatross 004.groove_billed_ani 006.least_auklet 008.rhinoceros_auklet "
        "009.brewer_blackbird 014.indigo_bunting 023.brandt_cormorant 029.american_crow "
        "031.black_billed_cuckoo 033.yellow_billed_cuckoo 034.gray_crowned_rosy_finch "
        "035.purple_finch 036.northern_flicker 037.acadian_flycatcher "
        "038.great_crested_flycatcher 043.yellow_bellied_flycatcher 049.boat_tailed_grackle "
        "051.horned_grebe 053.western_grebe 066.western_gull 072.pomarine_jaeger "
        "079.belted_kingfisher 083.white_breasted_kingfisher 084.red_legged_kittiwake "
        "086.pacific_loon 091.mockingbird 095.baltimore_oriole 096.hooded_oriole 098.scott_oriole "
        "101.white_pelican 102.western_wood_pewee 103.sayornis 112.great_grey_shrike "
        "114.black_throated_sparrow 119.field_sparrow 121.grasshopper_sparrow 130.tree_sparrow "
        "135.bank_swallow 138.tree_swallow 147.least_tern 156.white_eyed_vireo "
        "163.cape_may_warbler 165.chestnut_sided_warbler 166.golden_winged_warbler "
        "180.wilson_warbler 183.northern_waterthrush 185.bohemian_waxwing 186.cedar_waxwing "
        "187.american_three_toed_woodpecker 197.marsh_wren"
    ),
    imagenet=_names("014.indigo_bunting 090.red_breasted_merganser"),
)
APY = Benchmark(
    name="aPY",
    classes="6dfa98a106b8e62a",
    ps_unseen="22972a73a3ddfb0f",
    ps_rows={15339: (5932, 1483, 7924)},
    ss_unseen=_names("bag building carriage centaur donkey goat jetski monkey mug statue wolf zebra"),
    imagenet=_names("zebra"),
)
SUN = Benchmark(
    name="SUN",
    classes="41e69c02d049feb2",
    ps_unseen="31360ad02c4e5b5b",
    ps_rows={14340: (10320, 2580, 1440)},
)
BENCHMARKS = (AWA, CUB, APY, SUN)


def benchmark_of(classes: Iterable[object]) -> Benchmark | None:
    """Return the benchmark with exactly these classes, if one is known."""
    fingerprint = digest(classes)
    return next((b for b in BENCHMARKS if b.classes == fingerprint), None)


def standard_unseen(classes: Collection[object]) -> list[object] | None:
    """Return the unseen classes of a known standard split, spelt as they are in ``classes``."""
    benchmark = benchmark_of(classes)
    if benchmark is None or not benchmark.ss_unseen:
        return None
    return [c for c in classes if normal(c) in benchmark.ss_unseen]


def split_name(benchmark: Benchmark, unseen: Collection[object]) -> str:
    """Return "PS", "SS" or "other" for the unseen classes of a benchmark."""
    if digest(unseen) == benchmark.ps_unseen:
        return "PS"
    if benchmark.ss_unseen and {normal(c) for c in unseen} == benchmark.ss_unseen:
        return "SS"
    return "other"
