"""English function words, which attacks leave alone.

Pronouns, determiners, prepositions, auxiliaries, conjunctions, negations, question words and the pieces
that tokenizers make of contractions (``n't``, ``'s``). TextFooler (Jin et al. 2020, §3) skips such words.
"""

from __future__ import annotations

_PRONOUNS = """
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her
hers herself it its itself they them their theirs themselves themself one oneself one's someone somebody
something anyone anybody anything everyone everybody everything nobody nothing none who whom whose which
what whoever whomever whichever whatever that this these those each other another others either neither
both such same
"""
_DETERMINERS = """
a an the some any every all no many much more most several few fewer fewest less least enough half own
"""
_PREPOSITIONS = """
about above across after against along alongside amid amidst among amongst around as aside at atop before
behind below beneath beside besides between beyond by despite down during except for from in including
inside into near of off on onto out outside over per since than through throughout till to toward towards
under underneath unlike until unto up upon versus via vs with within without away back forth due according
because
"""
_AUXILIARIES = """
am is are was were be been being have has had having do does did doing done will would shall should can
could may might must ought let
"""
_CONJUNCTIONS = """
and or but nor so yet if unless though although while whilst whereas whether because since when whenever
where wherever until till once lest albeit
"""
_NEGATIONS = """
not no never nor none neither nowhere nobody nothing cannot without
"""
_ADVERBS = """
how why when where whence whither here there hence thence thus then now just only even also too very
rather almost again ever still already else otherwise however therefore moreover furthermore nevertheless
nonetheless meanwhile indeed instead perhaps maybe anyhow anyway anywhere somewhere everywhere elsewhere
somehow somewhat sometime sometimes hereby herein thereby therein thereafter thereupon whereby wherein
whereupon hereafter afterwards beforehand latter former
"""
_CONTRACTIONS = """
n't 's 're 've 'd 'll 'm 't ain't aren't can't couldn't daren't didn't doesn't don't hadn't hasn't haven't
isn't mayn't mightn't mustn't needn't oughtn't shan't shouldn't wasn't weren't won't wouldn't i'm i've i'd
i'll you're you've you'd you'll he's he'd he'll she's she'd she'll it's it'd it'll we're we've we'd we'll
they're they've they'd they'll that's that'd that'll there's there'd there'll who's who'd who'll who've
what's what're what'll where's where'd when's why's how's here's let's y'all 'tis 'twas 'em aint arent
cant couldnt didnt doesnt dont hadnt hasnt havent isnt mightnt mustnt neednt shant shouldnt wasnt werent
wont wouldnt ca wo sha ai d ll m o re s t ve y
"""

STOP_WORDS: frozenset[str] = frozenset(
    (
        _PRONOUNS
        + _DETERMINERS
        + _PREPOSITIONS
        + _AUXILIARIES
        + _CONJUNCTIONS
        + _NEGATIONS
        + _ADVERBS
        + _CONTRACTIONS
    ).split()
)


def is_stop_word(word: str) -> bool:
    """Whether ``word`` is a function word, whatever its case and with either kind of apostrophe."""
    return word.lower().replace("’", "'") in STOP_WORDS
