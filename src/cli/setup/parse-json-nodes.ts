import { JSON_DEPTH_MAX } from '../../core/strict-json.js';

/** A value of a JSON text that may contain comments and trailing commas, with its position in the text. */
export interface JsonNode {
  readonly start: number;
  /** The position after its last character. */
  readonly end: number;
  /** The parsed value, as if the text had no comments. */
  readonly value: unknown;
  /** The members of an object or the items of a list; null for any other value. */
  readonly children: readonly JsonChild[] | null;
}

export interface JsonChild {
  /** Null for an item of a list. */
  readonly name: string | null;
  /** Where the child starts: at its name, if it has one. */
  readonly start: number;
  readonly node: JsonNode;
  /** Position of the comma after it; null if there is none. */
  readonly comma: number | null;
}

/** Parses the text, and returns the outermost node. Throws a `SyntaxError` if it is not valid. */
export function parseJsonNodes(text: string): JsonNode {
  const parser = new JsonNodeParser(text);
  const node = parser.parseValue(0);
  parser.skipTrivia();
  if (parser.at < text.length) throw parser.unexpectedText();
  return node;
}

const SCALAR = /-?\d[\d.eE+-]*|true|false|null|"(?:[^"\\\n]|\\.)*"/y;

class JsonNodeParser {
  at = 0;

  constructor(private readonly text: string) {}

  unexpectedText(): SyntaxError {
    return new SyntaxError(`unexpected text at position ${this.at}`);
  }

  /** Skips white space and comments. */
  skipTrivia(): void {
    const trivia = /(?:[\s\uFEFF]|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
    trivia.lastIndex = this.at;
    trivia.exec(this.text);
    this.at = trivia.lastIndex;
  }

  parseValue(depth: number): JsonNode {
    if (depth > JSON_DEPTH_MAX) throw this.unexpectedText();
    this.skipTrivia();
    const start = this.at;
    const open = this.text[start];
    if (open === '{' || open === '[') return this.parseContainer(open === '{', depth);
    const value = this.parseScalar();
    return { start, end: this.at, value, children: null };
  }

  private parseScalar(): unknown {
    SCALAR.lastIndex = this.at;
    const [scalar] = SCALAR.exec(this.text) ?? [];
    if (scalar === undefined) throw this.unexpectedText();
    this.at += scalar.length;
    return JSON.parse(scalar);
  }

  private parseContainer(isObject: boolean, depth: number): JsonNode {
    const start = this.at;
    const close = isObject ? '}' : ']';
    const children: JsonChild[] = [];
    this.at += 1;
    for (;;) {
      this.skipTrivia();
      if (this.text[this.at] === close) break;
      if (children.at(-1)?.comma === null) throw this.unexpectedText();
      children.push(this.parseChild(isObject, depth));
    }
    this.at += 1;
    const items = children.map(({ node }) => node.value);
    const members = children.map(({ name, node }): [string, unknown] => [name ?? '', node.value]);
    return { start, end: this.at, value: isObject ? Object.fromEntries(members) : items, children };
  }

  private parseChild(isObject: boolean, depth: number): JsonChild {
    const start = this.at;
    const name = isObject ? this.parseMemberName() : null;
    const node = this.parseValue(depth + 1);
    this.skipTrivia();
    const comma = this.text[this.at] === ',' ? this.at : null;
    if (comma !== null) this.at += 1;
    return { name, start, node, comma };
  }

  private parseMemberName(): string {
    const name = this.parseScalar();
    this.skipTrivia();
    if (typeof name !== 'string' || this.text[this.at] !== ':') throw this.unexpectedText();
    this.at += 1;
    return name;
  }
}
