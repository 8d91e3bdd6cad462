import { PLAN_TEXT_LENGTH_MAX } from '../plan-document.js';
import { PlanFaultList } from '../plan-faults.js';
import { isTaskId, TRACK_PATTERN } from '../task-id.js';
import { splitReferences } from './references.js';
import type { Reference, SourceDocument, SourceItem, SourceSubtask, TrackGroup } from './source-item.js';

/** Maximum length of a line. Longer lines are faults, so that every pattern below stays fast. */
const LINE_LENGTH_MAX = 10_000;
const ITEM = /^( *)(?:[-*+]|\d{1,9}[.)]) +\[([ xX])\] +(.*)$/;
const FENCE = /^ *(?:```|~~~)/;
/** `A-001-schema: Title`, `**#12** Title`, `[SHOP-7] Title`, `3. Title`. */
const LEADING_ID = /^[*_`[]{0,3}(#?[A-Za-z0-9][A-Za-z0-9_-]{0,79})[*_`\]]{0,3}([:.)]?)(?: +[-–—:] +| +|$)/;
const NO_HEADING: TrackGroup = { name: '', track: null };

/** An item whose lines are still being read. */
interface ChecklistItem {
  readonly indent: number;
  readonly line: number;
  readonly group: TrackGroup;
  readonly is_done: boolean;
  readonly titleLine: string;
  readonly text: string[];
  readonly subtasks: SourceSubtask[];
}

/**
 * Reads a Markdown checklist. Headings are tracks, items are tasks, nested items are subtasks, and the indented text
 * under an item is its instructions. Text outside of items is ignored.
 */
export function readMarkdown(markdown: string): SourceDocument {
  const faults = new PlanFaultList();
  const reader = new ChecklistReader();
  if (markdown.length > PLAN_TEXT_LENGTH_MAX)
    faults.add('BAD_VALUE', [], `The file has over ${PLAN_TEXT_LENGTH_MAX} characters. Import it in parts.`);
  else
    for (const [index, line] of markdown.split(/\r?\n/).entries()) {
      if (line.length > LINE_LENGTH_MAX)
        faults.add(
          'BAD_VALUE',
          [],
          `The line has over ${LINE_LENGTH_MAX} characters. Break it into shorter lines.`,
          {
            line: index + 1,
            column: 1,
          },
        );
      else reader.readLine(line.replaceAll('\t', '    '), index + 1);
    }
  const items = distinctIds(reader.items.map(sourceItem));
  if (faults.isEmpty && items.length === 0)
    faults.add(
      'BAD_VALUE',
      [],
      'The file has no items. A task is a line such as "- [ ] Design the schema".',
      {
        line: 1,
        column: 1,
      },
    );
  return { items, is_ordered: true, faults };
}

class ChecklistReader {
  readonly items: ChecklistItem[] = [];
  private group = NO_HEADING;
  private openItem: ChecklistItem | null = null;
  private isFenced = false;

  readLine(line: string, lineNumber: number): void {
    const indent = line.search(/\S|$/);
    const isBlank = indent === line.length;
    const isInstruction = this.openItem !== null && (isBlank || indent > this.openItem.indent);
    const wasFenced = this.isFenced;
    if (FENCE.test(line)) this.isFenced = !this.isFenced;
    const isCode = wasFenced || this.isFenced;
    const match = isCode ? null : ITEM.exec(line);
    if (match !== null) this.readItem(match, lineNumber);
    else if (!isCode && /^#{1,6} /.test(line)) this.readHeading(line);
    else if (isInstruction) this.openItem?.text.push(line);
    else this.openItem = null;
  }

  private readHeading(line: string): void {
    const name = line
      .replace(/^#{1,6} +/, '')
      .replace(/ #+$/, '')
      .trim();
    this.group = { name, track: trackNamedBy(name) };
    this.openItem = null;
  }

  private readItem([, indentText = '', box = ' ', titleLine = '']: RegExpExecArray, line: number): void {
    const indent = indentText.length;
    const is_done = box !== ' ';
    if (this.openItem !== null && indent > this.openItem.indent) {
      this.openItem.subtasks.push({ title: titleLine.trim(), is_done });
      return;
    }
    this.openItem = {
      indent,
      line,
      group: this.group,
      is_done,
      titleLine: titleLine.trim(),
      text: [],
      subtasks: [],
    };
    this.items.push(this.openItem);
  }
}

/**
 * The track that a heading names: API for `API endpoints`, B for `Track B: search`. Null for other headings, which get the
 * next free letter.
 */
function trackNamedBy(heading: string): string | null {
  const word = /^(?:track +)?([A-Za-z]+)(?![A-Za-z0-9'’-])/i.exec(heading)?.[1] ?? '';
  return TRACK_PATTERN.test(word) ? word : null;
}

function sourceItem({ titleLine, text, line, group, is_done, subtasks }: ChecklistItem): SourceItem {
  const { textBefore, references } = splitReferences(titleLine);
  const { task_id, original_id, title } = splitLeadingId(textBefore);
  const body = readBody(text);
  return {
    original_id: original_id ?? title,
    task_id,
    title,
    instructions: body.instructions,
    group,
    references: [...references, ...body.references],
    subtasks,
    priority: null,
    is_done,
    line,
    path: ['line', line],
  };
}

/** Separates an id at the beginning from the title. A word is an id only if it has a digit. */
function splitLeadingId(titleLine: string): {
  task_id: string | null;
  original_id: string | null;
  title: string;
} {
  const match = LEADING_ID.exec(titleLine);
  const word = match?.[1] ?? '';
  const title = titleLine.slice(match?.[0].length ?? 0).trim();
  if (isTaskId(word)) return { task_id: word, original_id: word, title: title === '' ? word : title };
  const isKey = /^#\d+$|^[A-Z][A-Z0-9]*-\d+$/.test(word) || (/^\d+$/.test(word) && match?.[2] !== '');
  if (!isKey || title === '') return { task_id: null, original_id: null, title: titleLine };
  return { task_id: null, original_id: word.replace(/^#/, ''), title };
}

/** Separates the lines under an item into its instructions, without their common indent, and lines that name dependencies. */
function readBody(lines: readonly string[]): { instructions: string | null; references: Reference[] } {
  const references: Reference[] = [];
  const instructionLines = lines.filter((line) => {
    const { textBefore, references: lineReferences } = splitReferences(line.trim().replace(/^[-*+] /, ''));
    if (textBefore !== '' || lineReferences.length === 0) return true;
    references.push(...lineReferences);
    return false;
  });
  const indents = instructionLines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/));
  const commonIndent = indents.reduce((least, indent) => Math.min(least, indent), LINE_LENGTH_MAX);
  const instructions = instructionLines
    .map((line) => line.slice(commonIndent))
    .join('\n')
    .trim();
  return { instructions: instructions === '' ? null : instructions, references };
}

/** Makes ids unique: of items with the same id, the second gets the suffix ` (2)`, and so on. Task ids stay as they are. */
function distinctIds(items: readonly SourceItem[]): SourceItem[] {
  const countById = new Map<string, number>();
  return items.map((item) => {
    const count = (countById.get(item.original_id) ?? 0) + 1;
    countById.set(item.original_id, count);
    return count === 1 || item.task_id !== null
      ? item
      : { ...item, original_id: `${item.original_id} (${count})` };
  });
}
