"""Every error a user can meet: what is wrong, where, and what to do next.

All derive from :class:`AdaptnerError`; catch one of its children to handle a whole group::

    AdaptnerError
    ├── UsageError       the call is wrong: options, names, settings (exit code 2)
    ├── InputError       an input file is missing, unreadable, or malformed
    ├── OutputError      the result cannot be written
    ├── CorpusError      a corpus cannot be loaded, downloaded, or converted
    ├── LearningError    the sentences, labels, and method cannot be learnt from together
    ├── ModelError       a base, model, encoder, or vector file cannot be used
    └── ExecutionError   a process, package, device, or cluster fails

``problem`` and ``remedy`` are templates, filled with the keyword arguments of the constructor. The
command line prints the message and exits with ``exit_code``; users never see a stack trace.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


class AdaptnerError(Exception):
    """Base class of all errors; raise one of its subclasses.

    ``file`` and ``line`` are put in front of the message, the other arguments into its templates.
    """

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


# --- usage ----------------------------------------------------------------------------------------


class UsageError(AdaptnerError):
    problem = "{problem}"
    remedy = "{remedy}"
    exit_code = 2


class UnknownFormat(UsageError):
    problem = "cannot determine the file format {given}"
    remedy = "use one of these format names or file endings: {known}"


class UnknownName(UsageError):
    problem = "no {kind} is called {name!r}{near}"
    remedy = "choose one of: {known}"

    @classmethod
    def among(cls, known: Iterable[str], *, kind: str, name: str) -> UnknownName:
        """Returns the error for a name that is not among ``known``."""
        known = list(known)
        return cls(kind=kind, name=name, near=did_you_mean(name, known), known=", ".join(known))


class UnknownBase(UsageError):
    problem = "no base is called {name!r}{near}, and there is no such folder"
    remedy = (
        "give the folder of a base made by `adaptner pretrain`, or the name of an installed base: "
        "{known}"
    )


class UnknownKind(UsageError):
    problem = "the terminologies know no kind of entity called {name!r}"
    remedy = (
        "choose a kind that they know, for example {near}; or annotate some sentences and use "
        "`adaptner adapt`"
    )


class BadConfiguration(UsageError):
    problem = "{field}: {reason}"
    remedy = (
        "see the method's page in docs/methods and the recipes in reproduce/tables/recipes for "
        "valid settings"
    )


class InvalidToml(BadConfiguration):
    remedy = (
        "write one `name = value` per line, and the settings of a group under its heading, for "
        "example [adaptation]"
    )


class NotAName(UsageError):
    problem = "{name!r} is no name in these terminologies, and no rule takes it for one"
    remedy = "look for another spelling, or add it by a list of your own (`adaptner terms build`)"


class BudgetTooSmall(UsageError):
    problem = "a budget of {budget} does not allow a single training step"
    remedy = "give more iterations or seconds"


# --- input files ----------------------------------------------------------------------------------


class InputError(AdaptnerError):
    pass


class FileMissing(InputError):
    problem = "no such file or folder"
    remedy = "check the path; {hint}"


class FileUnreadable(InputError):
    problem = "cannot be read: {reason}"
    remedy = "check that it is a regular file and that you have permission to read it"


class EmptyFile(InputError):
    problem = "the file contains no sentences"
    remedy = "give a file with at least one {unit}"


class WrongEncoding(InputError):
    problem = "not valid UTF-8 (byte {byte} at position {position} of the line)"
    remedy = "convert the file, for example with: iconv -f {guess} -t UTF-8 IN > OUT"


class BrokenUtf16(WrongEncoding):
    problem = "not valid UTF-16 ({unit} at position {position} of the line)"
    remedy = "save the file as UTF-8, or drop what is broken: iconv -c -f UTF-16 -t UTF-8 IN > OUT"


class NulCharacter(InputError):
    problem = "NUL character at position {position} of the line; this is not a text file"
    remedy = "remove it, for example with: tr -d '\\000' < IN > OUT"


class LineTooLong(InputError):
    problem = "the line is longer than {most}"
    remedy = "split the document, or give it as a .txt file, which is read in chunks"


class SentenceTooLong(InputError):
    problem = "more than {most} tokens without a blank line"
    remedy = "separate the sentences by blank lines"


class LoneCarriageReturn(InputError):
    problem = "carriage return inside the line (position {position})"
    remedy = "convert the line endings, for example with: tr '\\r' '\\n' < IN > OUT"


class DamagedArchive(InputError):
    problem = "the compressed file is damaged or truncated ({reason})"
    remedy = "download or copy it again, and test it with `{tool} -t FILE`"


class RaggedColumns(InputError):
    problem = "{found} column(s), but the lines above have {expected}"
    remedy = (
        "give every token line the same columns, with the token first and the tag last, and "
        "separate sentences by blank lines"
    )


class TooFewColumns(InputError):
    problem = "only one column; a CoNLL line needs a token and a tag"
    remedy = (
        "separate token and tag by a tab or a space, or read the file as plain text (--from text)"
    )


class UnknownTag(InputError):
    problem = (
        "unknown tag {tag!r}; known tags are O and B-X, I-X, E-X, S-X for a label X, or B, I, E, S "
        "without a label"
    )
    remedy = "write the tags in IOB1, BIO, or BIOES"


class MixedSchemes(InputError):
    problem = "the tags follow more than one scheme: {evidence}"
    remedy = "convert the file to one scheme (IOB1, BIO, or BIOES) first"


class BadJson(InputError):
    problem = "not a JSON object with a text: {reason}"
    remedy = (
        'write one object per line: {{"text": "...", "entities": '
        '[{{"start": 0, "end": 4, "label": "Gene"}}]}}'
    )


class BadEntity(InputError):
    problem = "entity {number}: {reason}"
    remedy = (
        'write an entity as {{"start": int, "end": int, "label": str}} with '
        "0 <= start < end <= length of the text"
    )


class EntityOffTokens(InputError):
    problem = "entity {number} ({mention!r}, {start}-{end}) begins or ends inside a word"
    remedy = "move its boundaries to those of {suggestion!r} ({new_start}-{new_end})"


class OverlappingEntities(InputError):
    problem = "entities {first!r} ({first_span}) and {second!r} ({second_span}) overlap"
    remedy = "keep one of the two, because each token has exactly one tag"


class BadTerminology(InputError):
    problem = "not usable as a terminology: {reason}"
    remedy = (
        "give a tab-separated file (.tsv, .tsv.gz, or .tsv.xz) with the columns id, name, synonyms, "
        "parents, note; synonyms and parents are joined by |"
    )


class WordCountMismatch(InputError):
    problem = "gold and predicted texts differ at document {number}: {reason}"
    remedy = "score the same texts in the same order"


class NoNames(InputError):
    problem = "the file contains no names"
    remedy = "give a terminology, or a list with a name on each line"


class NoUsableNames(InputError):
    problem = "none of the names has a kind, or all of them are left out"
    remedy = (
        "give lists a column `kind`, or call a list after the kind of its names (disease.txt); known "
        "kinds: {known}"
    )


class OnlyDoubtfulNames(InputError):
    problem = "none of the names of {label} is used: {names}"
    remedy = "give other names, or use them all the same with --keep-all"


class WrongFieldCount(InputError):
    problem = "{found} field(s), but {expected} expected"
    remedy = "{remedy}"


class BadQuotes(InputError):
    problem = "the quotes cannot be read: {reason}"
    remedy = (
        "put a name with commas, quotes, or line breaks between double quotes, and write the quotes "
        "inside it twice"
    )


class BadConcept(InputError):
    problem = "not a concept: {reason}"
    remedy = "correct it, or leave it out"


class RepeatedConcept(InputError):
    problem = "the id {id} of {name!r} is that of {other!r} in line {first}"
    remedy = "give each concept its own id, and put all names of a concept on one line"


class BadXml(InputError):
    problem = "the XML cannot be read: {reason}"
    remedy = "check that the file is complete, or download it again"


class UnsafeXml(InputError):
    problem = "the XML defines the entity {name!r}, and such definitions are not read"
    remedy = "give the file as its publisher provides it, or replace the entities by their text"


class DescriptorsMissing(InputError):
    problem = "its records refer to descriptors by name, and there is no {descriptors} beside it"
    remedy = "put the descriptors of the same year into the same folder, or give supp<year>.xml"


# --- output ---------------------------------------------------------------------------------------


class OutputError(AdaptnerError):
    pass


class EntityNotRepresentable(OutputError):
    problem = "{what} cannot be written as {format}: {reason}"
    remedy = "write another format (jsonl can hold everything)"


class OutputExists(OutputError):
    problem = "exists and is not {kind}, so it is not overwritten"
    remedy = "choose another path with -o, or remove it yourself"


class ForeignResults(OutputError):
    problem = "the folder contains results of another model or format, and results are not mixed"
    remedy = "choose another folder with -o, or remove this one"


class DiskFull(OutputError):
    problem = "no space left on the disk; no incomplete file was left behind"
    remedy = "free some space (about {needed}) and run the command again"


# --- corpora --------------------------------------------------------------------------------------


class CorpusError(AdaptnerError):
    pass


class CorpusIncomplete(CorpusError):
    problem = "the {split} split is missing (found: {found})"
    remedy = "give a folder with train, dev, and test files (.conll or .jsonl)"


class AmbiguousSplit(CorpusError):
    problem = "several files for the {split} split: {names}"
    remedy = "keep one file per split, and move the others to another folder"


class ChecksumMismatch(CorpusError):
    problem = "{what} has the SHA-256 {found}, but the catalogue has {expected}"
    remedy = "{remedy}"


class DownloadFailed(CorpusError):
    problem = "{url} cannot be downloaded: {reason}"
    remedy = "{remedy}"


class CorpusUnavailable(CorpusError):
    problem = "{name} cannot be obtained {how}: {reason}"
    remedy = "{remedy}"


class RawFilesMissing(CorpusError):
    problem = "the folder contains no {what}"
    remedy = "{layout}"


class RawFileUnusable(CorpusError):
    problem = "cannot be converted: {reason}"
    remedy = (
        "check that the file is complete and identical to the one published by {source}; if "
        "`adaptner corpora fetch` downloaded it, delete it and run the command again"
    )


class DataChanged(CorpusError):
    problem = "{corpus} has changed since the run was planned ({planned}, now {found})"
    remedy = "do not change the data during a run; restart the run to use the new files"


# --- learning -------------------------------------------------------------------------------------


class LearningError(AdaptnerError):
    pass


class NoEntities(LearningError):
    problem = "none of the {sentences} sentence(s) contains a labelled entity"
    remedy = "label at least one entity; a useful tagger needs five or more sentences with entities"


class TooFewSentences(LearningError):
    problem = "{what} has {found} sentence(s), but {needed} are needed"
    remedy = "give more sentences, or ask for fewer ({option})"


class TooFewDomains(LearningError):
    problem = "{found} source domain(s), but {method} needs {needed}"
    remedy = "add corpora with other entity types with --sources"


class HeterogeneousTarget(LearningError):
    problem = (
        "{method} uses the base unchanged, but the base (labels: {known}) {reason}; the target has "
        "the labels {target}"
    )
    remedy = (
        "give a base with a single decoder for all domains (--method d-shift or metaner-zero), "
        "pretrained on sources with the target's labels, or adapt with a method that trains on the "
        "target"
    )


class UnknownLabels(LearningError):
    problem = (
        "without labelled target sentences, only the labels of the sources can be learnt ({known}), "
        "but the target has the labels {target}"
    )
    remedy = "give sources with the target's labels, or labelled sentences of the target"


class IncompatibleMethod(LearningError):
    problem = "{method} cannot adapt a base made by {base}: {reason}"
    remedy = "adapt with the base's own method (omit --method), or pretrain a base with this method"


class SourcesNeeded(LearningError):
    problem = "{method} trains on sources and target together; sources given: {given}"
    remedy = (
        "give corpora of the base's own domains ({domains}) with --sources, or pretrain a base on "
        "your sources with `adaptner pretrain`"
    )


class EmptyVocabulary(LearningError):
    problem = "too few words occur at least {least} times in the text ({tokens} words)"
    remedy = "give more text, or a smaller --min-count"


class VectorTrainingFailed(LearningError):
    problem = "training the word vectors stopped early: {reason}"
    remedy = "{remedy}"


class TrainingDiverged(LearningError):
    problem = "training stopped because the loss became {loss} at iteration {iteration}"
    remedy = "lower the learning rates (now {rates}); {kept}"


class RunNotResumable(LearningError):
    problem = "cannot resume: {reason}"
    remedy = "start again without --resume, or give the same configuration and sources"


# --- bases, models, encoders, and vectors ---------------------------------------------------------


class ModelError(AdaptnerError):
    pass


class ModelUnreadable(ModelError):
    problem = "not a readable {kind} folder: {reason}"
    remedy = "make it again with `{command}`, or give another folder"


class ModelTooNew(ModelError):
    problem = "written in format {found}, but this version reads formats up to {known}"
    remedy = "upgrade adaptner"


class EncoderMissing(ModelError):
    problem = (
        "the transformer {name!r} is not available on this machine, and nothing was downloaded"
    )
    remedy = "{remedy}"


class EncoderUnusable(ModelError):
    problem = "cannot be used as a transformer encoder: {reason}"
    remedy = (
        "give the folder of a Hugging Face encoder (config.json, tokenizer files, "
        "model.safetensors), or change the encoder settings"
    )


class VectorsMissing(ModelError):
    problem = "the word vectors of this {kind} are missing ({reason})"
    remedy = "put {wanted} back into the folder, or make the base again with --vectors"


class TermsNeeded(ModelError):
    problem = "the base has no terminologies, so it knows nothing of {labels}"
    remedy = (
        "give a base with terminologies (--base; `adaptner bases` lists those that are installed), or "
        "annotate some sentences and use `adaptner adapt`"
    )


class TermsMissing(ModelError):
    problem = "the terminologies of this model ({checksum}…) are in no installed base"
    remedy = (
        "install the base that it was made with (`adaptner bases` lists those that are there), or "
        "make the model again with `adaptner adapt`"
    )


class BaseWithoutTerms(ModelError):
    problem = "this base has no terminologies"
    remedy = "give a file made by `adaptner terms build` with --terms"


class TermsUnreadable(ModelError):
    problem = "not a readable file of compiled terminologies: {reason}"
    remedy = "make it again with `adaptner terms build`, or give another file"


class BadVectors(ModelError):
    problem = "not usable as word vectors: {reason}"
    remedy = (
        "give vectors in text or word2vec format (.txt, .vec, .bin), a .npy file with its "
        ".vocab.txt, or a .safetensors file made by `adaptner vectors train`"
    )


# --- processes, packages, devices, and clusters ---------------------------------------------------


class ExecutionError(AdaptnerError):
    pass


class ProcessDied(ExecutionError):
    problem = "one of the {jobs} tagging processes died; no incomplete file was left behind"
    remedy = "run the command again with fewer --jobs (each needs memory)"


class DeviceMissing(ExecutionError):
    problem = "this machine has no device {name!r} that PyTorch can use"
    remedy = "use --device auto or cpu (known: {known}), or install a PyTorch build for the device"


class ExtraMissing(ExecutionError):
    problem = "{what} needs the package {package}"
    remedy = "pip install 'adaptner[{extra}]'"


class StoreUnreadable(ExecutionError):
    problem = "not a readable results file: {reason}"
    remedy = "give the results.sqlite written by `adaptner reproduce`, on a local disk"


class JobsFailed(ExecutionError):
    problem = (
        "{failed} of {total} jobs failed{waiting}; all others are done. First failure: {first}"
    )
    remedy = (
        "read {log} (`adaptner results STORE --failures` lists all failures), fix the cause, and "
        "run the same command again; only missing results are computed"
    )


class WorkersDied(ExecutionError):
    problem = "worker processes die immediately (the last one with exit code {code})"
    remedy = (
        "read this log for the cause; finished results are kept, and the same command continues "
        "from there"
    )


class ClusterUnusable(ExecutionError):
    problem = "the Ray cluster {address} cannot be used: {reason}"
    remedy = (
        "check that the cluster runs (`ray status`) and that every node has this version of "
        "adaptner and the data at the same paths, or use --jobs N; finished results are kept"
    )


def did_you_mean(name: str, known: list[str]) -> str:
    """Returns " (did you mean ...?)" with the closest of the ``known`` names, or ""."""
    import difflib

    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f" (did you mean {close[0]!r}?)" if close else ""
