import type { SliceableWork } from '../../../sliceable-work.js';
import { builtInFile } from './built-in.js';
import { ALL_FILES_LENGTH_MAX, FILES_MAX, filesByKind, type WorkspaceFileKind } from './file-kinds.js';
import { type ConfigFaultList, openYamlFile, type YamlFile } from './yaml-file.js';

/** The files of a workspace by path relative to `.ai-workspace/`: their texts, or why they could not be read. */
export interface WorkspaceTexts {
  readonly files: ReadonlyMap<string, string>;
  readonly unreadable: ReadonlyMap<string, string>;
}

/** The files of a workspace by kind. A file that exists but cannot be read counts as faulty, not as missing. */
export class WorkspaceFiles {
  readonly #byKind: ReadonlyMap<WorkspaceFileKind, readonly string[]>;
  readonly #opened = new Map<string, YamlFile | null>();

  constructor(
    private readonly texts: WorkspaceTexts,
    private readonly faultList: ConfigFaultList,
  ) {
    this.#byKind = filesByKind([...texts.files.keys(), ...texts.unreadable.keys()]);
    const usedPaths = new Set([...this.#byKind.values()].flat());
    for (const [file, message] of texts.unreadable) {
      // A path without these extensions may be a folder of used files. Unreadable files that are not used are ignored.
      if (!usedPaths.has(file) && !/\.(ya?ml|md)$/.test(file)) faultList.fault({ file, path: '', message });
    }
  }

  /** The paths of a kind, whether or not they can be parsed. */
  pathsOf(kind: WorkspaceFileKind): readonly string[] {
    return this.#byKind.get(kind) ?? [];
  }

  /** Opens every file of these kinds, and pauses after each. `filesOf` then returns them without parsing them again. */
  *openInSlices(kinds: readonly WorkspaceFileKind[]): SliceableWork<void> {
    for (const path of kinds.flatMap((kind) => this.#byKind.get(kind) ?? [])) {
      this.#open(path);
      yield;
    }
  }

  /** The files of a kind that can be parsed; the faults of the others are reported. */
  filesOf(kind: WorkspaceFileKind): YamlFile[] {
    const paths = this.#byKind.get(kind) ?? [];
    return paths.map((path) => this.#open(path)).filter((file) => file !== null);
  }

  /**
   * The file of a kind that a workspace uses only once: the first one; others are ignored with a warning. Null if there
   * is none, or if it cannot be parsed, which is reported.
   */
  fileOf(kind: WorkspaceFileKind): YamlFile | null {
    const [first, ...others] = this.#byKind.get(kind) ?? [];
    if (first === undefined) return null;
    const message = `${first} takes precedence; this file is ignored.`;
    for (const file of others) this.faultList.warn({ file, path: '', message });
    return this.#open(first);
  }

  /** The file of a kind, or the built-in file for workspaces that have none. */
  fileOrBuiltIn(kind: WorkspaceFileKind, builtInPath: string): YamlFile | null {
    return this.#byKind.has(kind) ? this.fileOf(kind) : builtInFile(builtInPath);
  }

  textsOf(kind: WorkspaceFileKind): string[] {
    return (this.#byKind.get(kind) ?? []).map((path) => this.texts.files.get(path) ?? '');
  }

  #open(path: string): YamlFile | null {
    const opened = this.#opened.get(path);
    if (opened !== undefined) return opened;
    const file = this.#parse(path);
    this.#opened.set(path, file);
    return file;
  }

  #parse(path: string): YamlFile | null {
    const message = this.texts.unreadable.get(path);
    if (message === undefined) return openYamlFile(path, this.texts.files.get(path) ?? '', this.faultList);
    this.faultList.fault({ file: path, path: '', message });
    return null;
  }
}

/** Says that the files are too many or too large; null if they are within the limits. */
export function sizeLimitText(texts: ReadonlyMap<string, string>): string | null {
  if (texts.size > FILES_MAX) {
    return `There are ${texts.size} configuration files; at most ${FILES_MAX} are allowed. Send fewer files.`;
  }
  let length = 0;
  for (const text of texts.values()) length += text.length;
  if (length <= ALL_FILES_LENGTH_MAX) return null;
  return `The files have ${length} characters in total; at most ${ALL_FILES_LENGTH_MAX} are allowed. Shorten some of them.`;
}
