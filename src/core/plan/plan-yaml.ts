import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Pair, parseDocument } from 'yaml';
import { FaultList, type Path, type Place } from './faults.js';
import { findTangle } from './tangle.js';

/** In characters, which are never more than its bytes. */
export const PLAN_TEXT_LENGTH_MAX = 5 * 1024 * 1024;

export interface PlanText {
  /** Undefined where the text is not YAML at all. */
  readonly value: unknown;
  readonly faults: FaultList;
}

/** Reads YAML into plain values, and remembers where everything stands. Aliases, tags and repeated keys are faults. */
export function readYaml(text: string): PlanText {
  if (text.length > PLAN_TEXT_LENGTH_MAX) {
    const faults = new FaultList();
    const said = `The plan has ${text.length} characters; at most ${PLAN_TEXT_LENGTH_MAX} are read. Send it as JSON, or add tasks in parts.`;
    faults.add('BAD_YAML', [], said);
    return { value: undefined, faults };
  }
  const tangle = findTangle(text);
  if (tangle !== null) {
    const faults = new FaultList();
    faults.add('BAD_YAML', [], tangle.says, tangle.place);
    return { value: undefined, faults };
  }
  const lines = new LineCounter();
  // Repeated keys are found below: the library compares every key with all before it, which hostile text makes slow.
  const doc = parseDocument(text, {
    lineCounter: lines,
    schema: 'core',
    uniqueKeys: false,
    prettyErrors: false,
  });
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const faults = new FaultList((path) => placeAt(offsetOf(doc, path)));
  for (const problem of [...doc.errors, ...doc.warnings]) {
    faults.add('BAD_YAML', [], sentence(problem.message), placeAt(problem.pos[0]));
  }
  if (!faults.empty) return { value: undefined, faults };
  const reader = new NodeReader(faults, placeAt);
  return { value: reader.read(doc.contents), faults };
}

function sentence(message: string): string {
  if (message.includes('call stack')) return 'The text is nested too deeply.';
  return message.endsWith('.') ? message : `${message}.`;
}

class NodeReader {
  readonly #path: (string | number)[] = [];

  constructor(
    readonly faults: FaultList,
    readonly placeAt: (offset: number) => Place,
  ) {}

  read(node: unknown): unknown {
    if (isScalar(node)) return node.value;
    if (isSeq(node)) return node.items.map((item, at) => this.#inside(at, item));
    if (isMap(node)) return this.#readMap(node.items);
    if (isAlias(node)) {
      const said = `The alias *${node.source} is not read in a plan; write the value out.`;
      this.faults.add('BAD_YAML', this.#path, said, this.placeAt(node.range?.[0] ?? 0));
    }
    return null;
  }

  #inside(step: string | number, node: unknown): unknown {
    this.#path.push(step);
    const value = this.read(node);
    this.#path.pop();
    return value;
  }

  #readMap(pairs: readonly Pair[]): Record<string, unknown> {
    const fields = new Map<string, unknown>();
    for (const pair of pairs) {
      const name = nameOf(pair);
      if (name === null) {
        this.faults.add('BAD_YAML', this.#path, 'A name in a plan is plain text.');
      } else if (fields.has(name)) {
        const said = `${JSON.stringify(name)} is written twice here; keep one of them.`;
        this.faults.add('BAD_YAML', [...this.#path, name], said, this.placeAt(offsetOfKey(pair)));
      } else {
        fields.set(name, this.#inside(name, pair.value));
      }
    }
    // Own properties whatever the name, so that a `__proto__` is seen and refused like any other name.
    return Object.fromEntries(fields);
  }
}

/** As written: a track called `NULL` or `TRUE` is a name, not a value. */
function nameOf(pair: Pair): string | null {
  if (!isScalar(pair.key)) return null;
  return pair.key.source ?? String(pair.key.value);
}

const offsetOfKey = (pair: Pair): number => (isScalar(pair.key) ? (pair.key.range?.[0] ?? 0) : 0);

/** Where the path is written, or as much of it as there is: a field at its name, an item where it begins. */
function offsetOf(doc: Document, path: Path): number {
  let node: unknown = doc.contents;
  let offset = doc.contents?.range?.[0] ?? 0;
  for (const step of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => nameOf(item) === step);
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

function rangeStart(node: unknown): number | null {
  return isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? (node.range?.[0] ?? null) : null;
}
