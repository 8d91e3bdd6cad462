/** A part of a document: paragraphs under one heading. */
export interface Passage {
  readonly path: string;
  /** The position of the passage among the passages of the file. */
  readonly index: number;
  readonly first_line: number;
  readonly last_line: number;
  /** The headings above the passage, from the outermost; empty if there are none. */
  readonly heading: string;
  readonly text: string;
}

/** About 400 tokens: a few paragraphs, and small enough that passages of several documents fit into a prompt. */
const PASSAGE_CHARS_MAX = 1600;
const HEADING = /^(#{1,6})\s+(\S.*?)\s*#*$/;
const FENCE = /^\s{0,3}(`{3,}|~{3,})/;
const HEADING_CHARS_MAX = 120;

/**
 * Splits a document into passages at headings, at empty lines, and where a passage would become too long. A line is split
 * only if it alone is too long.
 */
export function passagesOf(path: string, text: string): Passage[] {
  const splitter = new PassageSplitter(path);
  for (const line of text.split('\n')) splitter.add(line);
  return splitter.finish();
}

class PassageSplitter {
  private readonly passages: Passage[] = [];
  private readonly headings: string[] = [];
  private lines: string[] = [];
  private length = 0;
  private lineNumber = 0;
  private firstLine = 1;
  /** The marker that ends the current block of code, in which `#` starts no heading; null outside of a block. */
  private fence: string | null = null;

  constructor(private readonly path: string) {}

  add(line: string): void {
    this.lineNumber += 1;
    const marker = FENCE.exec(line)?.[1];
    if (this.fence !== null) {
      if (marker?.startsWith(this.fence) === true) this.fence = null;
    } else if (marker !== undefined) this.fence = marker;
    else this.applyHeading(line);
    // An empty line ends a passage that is half full. Within a paragraph, only a full passage ends.
    const isFull = this.length + line.length > PASSAGE_CHARS_MAX;
    const isParagraphEnd = line.trim() === '' && this.length > PASSAGE_CHARS_MAX / 2;
    if (isFull || (isParagraphEnd && this.fence === null)) this.endPassage(this.lineNumber - 1);
    if (line.length > PASSAGE_CHARS_MAX) this.addLongLine(line);
    else {
      this.lines.push(line);
      this.length += line.length + 1;
    }
  }

  finish(): Passage[] {
    this.endPassage(this.lineNumber);
    return this.passages;
  }

  private applyHeading(line: string): void {
    const [, marks, title] = HEADING.exec(line) ?? [];
    if (marks === undefined || title === undefined) return;
    this.endPassage(this.lineNumber - 1);
    this.headings.length = Math.min(this.headings.length, marks.length - 1);
    while (this.headings.length < marks.length - 1) this.headings.push('');
    this.headings.push(title.slice(0, HEADING_CHARS_MAX));
  }

  /** Splits a long line, for example data without line ends, into passages with the same line number. */
  private addLongLine(line: string): void {
    for (let at = 0; at < line.length; ) {
      const part = line.slice(at, at + PASSAGE_CHARS_MAX);
      // A character of two UTF-16 units stays whole.
      const whole = /[\uD800-\uDBFF]$/.test(part) ? part.slice(0, -1) : part;
      this.lines = [whole];
      this.endPassage(this.lineNumber, this.lineNumber);
      at += whole.length;
    }
  }

  private endPassage(lastLine: number, firstLine = this.firstLine): void {
    const leading = this.lines.findIndex((line) => line.trim() !== '');
    if (leading !== -1) {
      const trailing = this.lines.length - 1 - this.lines.findLastIndex((line) => line.trim() !== '');
      this.passages.push({
        path: this.path,
        index: this.passages.length,
        first_line: firstLine + leading,
        last_line: lastLine - trailing,
        heading: this.headings.filter((title) => title !== '').join(' > '),
        text: this.lines.slice(leading, this.lines.length - trailing).join('\n'),
      });
    }
    this.lines = [];
    this.length = 0;
    this.firstLine = lastLine + 1;
  }
}
