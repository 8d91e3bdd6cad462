import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  parseAllDocuments,
  parseDocument,
  YAMLMap,
} from 'yaml';
import type { DocumentPath, LocatePath, SourcePosition } from './source-position.js';
import { findYamlLimitFault } from './yaml-limits.js';

interface YamlFault {
  readonly path: DocumentPath;
  readonly message: string;
  readonly source_position: SourcePosition;
}

export interface ParsedYaml {
  /** Plain values; undefined if the text could not be parsed. */
  readonly value: unknown;
  readonly faults: readonly YamlFault[];
  readonly locate: LocatePath;
}

// Duplicate keys are found below: the library compares each key with all earlier ones, which is slow on hostile input.
const PARSE_OPTIONS = { schema: 'core', uniqueKeys: false, prettyErrors: false } as const;

/** Maximum number of faults reported; a file can have one in every line. */
const FAULTS_MAX = 100;

/**
 * Parses YAML into plain values with their source positions. Aliases, unknown tags and duplicate keys are faults. With
 * `merged`, several documents are combined into one by their top-level keys. The caller limits the length of the text; the time
 * is linear in it, for any text.
 */
export function readYamlText(text: string, documents: 'one' | 'merged'): ParsedYaml {
  const limitFault = findYamlLimitFault(text);
  if (limitFault !== null) {
    return { value: undefined, faults: [{ path: [], ...limitFault }], locate: () => null };
  }
  const lineCounter = new LineCounter();
  const sourcePositionAt = (offset: number): SourcePosition => {
    const { line, col } = lineCounter.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const parsedDocuments = parseDocuments(text, documents, lineCounter);
  const root = mergedRoot(parsedDocuments);
  const offsets = new OffsetIndex(root);
  const locate: LocatePath = (path) => sourcePositionAt(offsets.offsetOf(path));
  const faults: YamlFault[] = [];
  const yamlErrors = parsedDocuments.flatMap((doc) => [...doc.errors, ...doc.warnings]);
  for (const { message, pos } of yamlErrors.slice(0, FAULTS_MAX)) {
    faults.push({ path: [], message: asSentence(message), source_position: sourcePositionAt(pos[0]) });
  }
  const nonMapOffset = nonMapDocumentOffset(parsedDocuments);
  if (nonMapOffset !== null) {
    const message = 'Each of several documents in one file must be a map.';
    faults.push({ path: [], message, source_position: sourcePositionAt(nonMapOffset) });
  }
  if (faults.length > 0) return { value: undefined, faults, locate };
  const value = new YamlNodeReader(faults, offsets, sourcePositionAt).read(root);
  return { value, faults, locate };
}

function parseDocuments(text: string, documents: 'one' | 'merged', lineCounter: LineCounter): Document[] {
  // The library creates an Error per fault; capturing its stack takes longer than finding the fault.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    if (documents === 'one') return [parseDocument(text, { ...PARSE_OPTIONS, lineCounter })];
    const all = parseAllDocuments(text, { ...PARSE_OPTIONS, lineCounter });
    return 'empty' in all ? [] : all;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

const nonEmptyRoots = (documents: readonly Document[]): unknown[] =>
  documents.map(({ contents }) => contents as unknown).filter((root) => !isEmptyNode(root));

/** Offset of the first of several documents that is not a map and cannot be merged. */
function nonMapDocumentOffset(documents: readonly Document[]): number | null {
  const roots = nonEmptyRoots(documents);
  const nonMapRoot = roots.length > 1 ? roots.find((root) => !isMap(root)) : undefined;
  return nonMapRoot === undefined ? null : (rangeStart(nonMapRoot) ?? 0);
}

/** The only document, or one map with the top-level entries of all of them. */
function mergedRoot(documents: readonly Document[]): unknown {
  const roots = nonEmptyRoots(documents);
  if (roots.length <= 1 || !roots.every(isMap)) return roots[0] ?? documents[0]?.contents ?? null;
  const merged = new YAMLMap();
  merged.items = roots.flatMap(({ items }) => items);
  merged.range = roots[0]?.range ?? null;
  return merged;
}

const isEmptyNode = (node: unknown): boolean => node === null || (isScalar(node) && node.value === null);

function asSentence(message: string): string {
  if (message.includes('call stack')) return 'The text is nested too deeply. Flatten it.';
  return message.endsWith('.') ? message : `${message}.`;
}

class YamlNodeReader {
  readonly #path: (string | number)[] = [];

  constructor(
    readonly faults: YamlFault[],
    readonly offsets: OffsetIndex,
    readonly sourcePositionAt: (offset: number) => SourcePosition,
  ) {}

  read(node: unknown): unknown {
    if (isScalar(node)) return node.value;
    if (isSeq(node)) return node.items.map((item, index) => this.#readChild(index, item));
    if (isMap(node)) return this.#readMap(node.items);
    if (isAlias(node)) {
      const message = `The alias *${node.source} is not supported; write the value out.`;
      this.#addFault(this.#path, message, node.range?.[0] ?? 0);
    }
    return null;
  }

  #readChild(step: string | number, node: unknown): unknown {
    this.#path.push(step);
    const value = this.read(node);
    this.#path.pop();
    return value;
  }

  #readMap(pairs: readonly Pair[]): Record<string, unknown> {
    const fields = new Map<string, unknown>();
    for (const pair of pairs) {
      const name = keyText(pair);
      if (name === null) {
        this.#addFault(this.#path, 'A name must be plain text.', this.offsets.offsetOf(this.#path));
      } else if (fields.has(name)) {
        const message = `${JSON.stringify(name)} is written twice here; keep one of them.`;
        this.#addFault([...this.#path, name], message, offsetOfKey(pair));
      } else {
        fields.set(name, this.#readChild(name, pair.value));
      }
    }
    // Creates own properties for any name, so that `__proto__` is found and refused like other names.
    return Object.fromEntries(fields);
  }

  #addFault(path: DocumentPath, message: string, offset: number): void {
    if (this.faults.length >= FAULTS_MAX) return;
    this.faults.push({ path: [...path], message, source_position: this.sourcePositionAt(offset) });
  }
}

/** The key as written: a field called `NULL` or `TRUE` is a name, not a value. */
function keyText(pair: Pair): string | null {
  if (!isScalar(pair.key)) return null;
  return pair.key.source ?? String(pair.key.value);
}

const offsetOfKey = (pair: Pair): number => (isScalar(pair.key) ? (pair.key.range?.[0] ?? 0) : 0);

/**
 * Finds the offset of a path, or of its longest existing prefix: a field at its name, an item at its start. The names
 * of each map are indexed once: searching a wide map for every field is quadratic.
 */
class OffsetIndex {
  readonly #fields = new Map<unknown, ReadonlyMap<string, Pair>>();

  constructor(readonly root: unknown) {}

  offsetOf(path: DocumentPath): number {
    let node = this.root;
    let offset = rangeStart(this.root) ?? 0;
    for (const step of path) {
      if (isMap(node)) {
        const pair = this.#fieldsOf(node).get(step as string);
        if (pair === undefined) break;
        offset = offsetOfKey(pair);
        node = pair.value;
      } else if (isSeq(node) && typeof step === 'number') {
        node = node.items[step];
        offset = rangeStart(node) ?? offset;
      } else break;
    }
    return offset;
  }

  #fieldsOf(node: YAMLMap): ReadonlyMap<string, Pair> {
    const cached = this.#fields.get(node);
    if (cached !== undefined) return cached;
    const fields = new Map<string, Pair>();
    for (const pair of node.items) {
      const name = keyText(pair);
      if (name !== null && !fields.has(name)) fields.set(name, pair);
    }
    this.#fields.set(node, fields);
    return fields;
  }
}

function rangeStart(node: unknown): number | null {
  return isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? (node.range?.[0] ?? null) : null;
}
