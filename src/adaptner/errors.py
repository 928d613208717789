"""Every error a user can meet: what is wrong, where, and what to do next.

One class each. ``problem`` and ``remedy`` are templates over the facts given where it is raised;
``file`` and ``line`` put the place in front. The command line prints the message and exits with 1
(2 for a wrong call); no user should ever see a stack trace of ours.
"""

from __future__ import annotations

from pathlib import Path


class AdaptnerError(Exception):
    """The base of all of them; raise one of its children."""

    problem = ""
    remedy = ""
    exit_code = 1

    def __init__(
        self, *, file: str | Path | None = None, line: int | None = None, **facts: object
    ) -> None:
        self.file = None if file is None else str(file)
        self.line = line
        self.facts = facts
        place = "" if file is None else f"{file}: " if line is None else f"{file}:{line}: "
        text = place + self.problem.format(**facts)
        remedy = self.remedy.format(**facts)
        super().__init__(f"{text}\n  What to do: {remedy}" if remedy else text)


# --- files and their contents -------------------------------------------------------------------


class FileMissing(AdaptnerError):
    problem = "there is no such file or folder"
    remedy = "check the path; {hint}"


class FileUnreadable(AdaptnerError):
    problem = "cannot be read: {reason}"
    remedy = "check that it is a plain file you may read"


class EmptyFile(AdaptnerError):
    problem = "the file holds no sentence"
    remedy = "give a file with at least one {unit}"


class WrongEncoding(AdaptnerError):
    problem = "not valid UTF-8 (byte {byte} at position {position} of the line)"
    remedy = "convert the file, for example with: iconv -f {guess} -t UTF-8 IN > OUT"


class NulCharacter(AdaptnerError):
    problem = "a NUL character (position {position} of the line): this is not a text file"
    remedy = "remove it, for example with: tr -d '\\000' < IN > OUT"


class LineTooLong(AdaptnerError):
    problem = "a line of more than {most}"
    remedy = "give long texts as .txt files, which are read in pieces, or part the document"


class SentenceTooLong(AdaptnerError):
    problem = "more than {most} tokens without a blank line"
    remedy = "part the sentences by blank lines"


class LoneCarriageReturn(AdaptnerError):
    problem = "a carriage return inside the line (position {position})"
    remedy = "convert the line ends, for example with: tr '\\r' '\\n' < IN > OUT"


class DamagedArchive(AdaptnerError):
    problem = "the compressed file is damaged or cut off ({reason})"
    remedy = "get it again; `{tool} -t FILE` says whether a file is whole"


class UnknownFormat(AdaptnerError):
    problem = "cannot tell the format {given}"
    remedy = "use one of these names or endings: {known}"
    exit_code = 2


class RaggedColumns(AdaptnerError):
    problem = "{found} column(s), where the lines before have {expected}"
    remedy = "give every token line the same columns, token first and tag last; blank lines part sentences"


class TooFewColumns(AdaptnerError):
    problem = "one column only; a CoNLL line needs a token and a tag"
    remedy = "part token and tag by a tab or a space, or read the file as plain text (--from text)"


class UnknownTag(AdaptnerError):
    problem = (
        "tag {tag!r} is none of O, B-X, I-X, E-X, S-X (X a label; plain B, I, E, S also serve)"
    )
    remedy = "write the tag in IOB1, BIO or BIOES"


class MixedSchemes(AdaptnerError):
    problem = "tags of more than one scheme: {evidence}"
    remedy = "convert the file to one scheme (IOB1, BIO or BIOES) before use"


class BadJson(AdaptnerError):
    problem = "not a JSON object with a text: {reason}"
    remedy = 'write one object a line: {{"text": "...", "entities": [{{"start": 0, "end": 4, "label": "Gene"}}]}}'


class BadEntity(AdaptnerError):
    problem = "entity {number}: {reason}"
    remedy = 'an entity is {{"start": int, "end": int, "label": str}} with 0 <= start < end <= length of the text'


class EntityOffTokens(AdaptnerError):
    problem = "entity {number} ({mention!r}, {start}-{end}) begins or ends inside a word"
    remedy = "move its borders to those of {suggestion!r} ({new_start}-{new_end})"


class OverlappingEntities(AdaptnerError):
    problem = "entities {first!r} ({first_span}) and {second!r} ({second_span}) overlap"
    remedy = "keep one of the two: a token has one tag"


class EntityNotRepresentable(AdaptnerError):
    problem = "{what} cannot be written as {format}: {reason}"
    remedy = "write another format (jsonl keeps everything)"


class CorpusIncomplete(AdaptnerError):
    problem = "no {split} split here (found: {found})"
    remedy = "a corpus is a folder with train, dev and test files (.conll or .jsonl)"


class AmbiguousSplit(AdaptnerError):
    problem = "the {split} split is here more than once: {names}"
    remedy = "keep one file a split, or move the others to another folder"


class WordCountMismatch(AdaptnerError):
    problem = "gold and predicted texts differ at document {number}: {reason}"
    remedy = "score the same texts in the same order"


class ChecksumMismatch(AdaptnerError):
    problem = "{what} has the SHA-256 {found}; the catalogue says {expected}"
    remedy = "{remedy}"


class DownloadFailed(AdaptnerError):
    problem = "{url} cannot be downloaded: {reason}"
    remedy = "{remedy}"


class CorpusUnavailable(AdaptnerError):
    problem = "{name} cannot be fetched {how}: {reason}"
    remedy = "{remedy}"


class RawFilesMissing(AdaptnerError):
    problem = "no {what} here"
    remedy = "{layout}"


class RawFileUnusable(AdaptnerError):
    problem = "cannot be converted: {reason}"
    remedy = (
        "look at it: is it the file that {source} has, whole and unchanged? If `adaptner corpora "
        "fetch` brought it, remove it and run the command again"
    )


# --- learning -------------------------------------------------------------------------------------


class NoEntities(AdaptnerError):
    problem = "none of the {sentences} sentence(s) has a labelled entity"
    remedy = "mark at least one entity; five or more sentences with entities make a useful tagger"


class TooFewSentences(AdaptnerError):
    problem = "{found} sentence(s) in {what}, where {needed} are needed"
    remedy = "give more sentences or ask for fewer ({option})"


class TooFewDomains(AdaptnerError):
    problem = "{found} source domain(s); {method} needs {needed}"
    remedy = "add corpora of other entity types with --sources"


class HeterogeneousTarget(AdaptnerError):
    problem = (
        "{method} uses the base as it is, and the base (labels: {known}) {reason}; "
        "the target's labels: {target}"
    )
    remedy = (
        "give a base learnt with one decoder for all domains (--method d-shift or metaner-zero) from "
        "sources with the target's labels, or adapt with a method that learns from the target"
    )


class UnknownLabels(AdaptnerError):
    problem = (
        "without a labelled sentence of the target only the sources' labels can be learnt "
        "({known}); the target's labels: {target}"
    )
    remedy = "give sources with the target's labels, or labelled sentences of the target"


class IncompatibleMethod(AdaptnerError):
    problem = "{method} cannot adapt a base made by {base}: {reason}"
    remedy = "adapt with the base's own method (leave out --method), or pretrain with this one"


class SourcesNeeded(AdaptnerError):
    problem = "{method} learns from sources and target together; sources given: {given}"
    remedy = (
        "give corpora of the base's own domains ({domains}) with --sources; `adaptner pretrain` makes a "
        "base that knows yours"
    )


class UnknownName(AdaptnerError):
    problem = "no {kind} is called {name!r}{near}"
    remedy = "choose one of: {known}"
    exit_code = 2


class UnknownBase(AdaptnerError):
    problem = "no base is called {name!r}{near}, and there is no such folder"
    remedy = "give the folder of a base, made by `adaptner pretrain`, or an installed one's name: {known}"
    exit_code = 2


class BadConfiguration(AdaptnerError):
    problem = "{field}: {reason}"
    remedy = "settings are on the method's page in docs/methods and in the recipes of reproduce/tables/recipes"
    exit_code = 2


class InvalidToml(BadConfiguration):
    remedy = (
        "write `name = value` on each line, those of a group under its heading, as [adaptation]"
    )


class UsageError(AdaptnerError):
    problem = "{problem}"
    remedy = "{remedy}"
    exit_code = 2


class EmptyVocabulary(AdaptnerError):
    problem = "too few words occur {least} times or more in the text ({tokens} words)"
    remedy = "give more text, or ask for less with --least"


class VectorTrainingFailed(AdaptnerError):
    problem = "training the word vectors ended early: {reason}"
    remedy = "{remedy}"


class EncoderMissing(AdaptnerError):
    problem = "the transformer {name!r} is not on this machine, and nothing was downloaded"
    remedy = "{remedy}"


class EncoderUnusable(AdaptnerError):
    problem = "cannot be used as a transformer encoder: {reason}"
    remedy = (
        "give the folder of a Hugging Face encoder (config.json, tokenizer files, "
        "model.safetensors), or other settings of it"
    )


class TrainingDiverged(AdaptnerError):
    problem = "the loss became {loss} at iteration {iteration}; training stopped"
    remedy = "lower the rates (now {rates}); {kept}"


class BudgetTooSmall(AdaptnerError):
    problem = "a budget of {budget} allows no step"
    remedy = "give more iterations or seconds"
    exit_code = 2


# --- saved models ----------------------------------------------------------------------------------


class OutputExists(AdaptnerError):
    problem = "already there and not {kind}, so it is not overwritten"
    remedy = "choose another -o, or remove it yourself"


class ModelUnreadable(AdaptnerError):
    problem = "not a readable {kind} folder: {reason}"
    remedy = "make it again with `{command}`, or point at another folder"


class ModelTooNew(AdaptnerError):
    problem = "written in format {found}; this version reads up to {known}"
    remedy = "upgrade adaptner"


class VectorsMissing(AdaptnerError):
    problem = "the word vectors of this {kind} are missing ({reason})"
    remedy = "put {wanted} back into the folder, or make the base again with --vectors"


class BadVectors(AdaptnerError):
    problem = "not usable as word vectors: {reason}"
    remedy = (
        "give text or word2vec (.txt, .vec, .bin), a .npy with its .vocab.txt beside it, or a "
        ".safetensors of `adaptner vectors train`"
    )


class ForeignResults(AdaptnerError):
    problem = "it holds results of another model or format, and a folder does not mix them"
    remedy = "choose another -o, or remove the folder"


class ProcessDied(AdaptnerError):
    problem = "one of the {jobs} tagging processes ended; nothing was left half-written"
    remedy = "give fewer --jobs (each needs memory), and run the command again"


class DiskFull(AdaptnerError):
    problem = "no space left on the disk; nothing was left half-written"
    remedy = "free some space (about {needed}) and run the command again"


class RunNotResumable(AdaptnerError):
    problem = "cannot resume: {reason}"
    remedy = "start afresh without --resume, or give the same configuration and sources"


class DeviceMissing(AdaptnerError):
    problem = "this machine has no device {name!r} that PyTorch can use"
    remedy = "use --device auto or cpu (known: {known}), or install a PyTorch build for the device"


class ExtraMissing(AdaptnerError):
    problem = "{what} needs the package {package}"
    remedy = "pip install 'adaptner[{extra}]'"


# --- reproducing tables -----------------------------------------------------------------------------


class DataChanged(AdaptnerError):
    problem = "{corpus} is not the corpus that was planned with ({planned}, now {found})"
    remedy = "leave the data alone while a run goes on; start it again to use the new files"


class StoreUnreadable(AdaptnerError):
    problem = "not a readable results file: {reason}"
    remedy = "give the results.sqlite that `adaptner reproduce` wrote, on a local disk"


class JobsFailed(AdaptnerError):
    problem = "{failed} of {total} jobs failed{waiting}; the rest is done. The first: {first}"
    remedy = (
        "read {log} (`adaptner results STORE --failures` lists all), mend the cause, and run the "
        "same command again: only what is missing is computed"
    )


class WorkersDied(AdaptnerError):
    problem = "worker processes end at once (the last one with code {code})"
    remedy = "read this log; what was computed is kept, and the same command goes on from there"


class ClusterUnusable(AdaptnerError):
    problem = "the Ray cluster {address} cannot be used: {reason}"
    remedy = (
        "check that it runs (`ray status`), that every node has this version of adaptner and the "
        "data at the same paths, or use --jobs N; what was computed is kept"
    )


def did_you_mean(name: str, known: list[str]) -> str:
    """' (did you mean ...?)' for a name close to a known one, else ''."""
    import difflib

    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f" (did you mean {close[0]!r}?)" if close else ""
