import { isObject } from '../../core/events/plain-data.js';
import { CommandFailure } from '../exit.js';
import type { ConfigSection } from './apply.js';
import { addChild, type JsonPath, nodeAt, removeChildren } from './json-edit.js';
import { parseJsonNodes } from './parse-json-nodes.js';

/** A member of an object or an item of a list: the one at `keyPath` that `isOurs` recognizes. */
export interface JsonEntry {
  /** Names from the root to the member, or to the list of the item. */
  readonly keyPath: JsonPath;
  readonly kind: 'member' | 'item';
  readonly value: unknown;
  readonly isOurs: (value: unknown) => boolean;
}

/** Entries in a JSON file, which may contain comments. All other text stays as it is. */
export function jsonSection(path: string, about: string, entries: readonly JsonEntry[]): ConfigSection {
  const withoutEntries = (text: string): string => {
    assertObject(path, text);
    return entries.reduce(removeEntry, text);
  };
  return {
    path,
    about,
    insert(text) {
      const isNew = text === null || text.trim() === '';
      return entries.reduce(
        (edited, entry) => addEntry(path, edited, entry),
        isNew ? '{}\n' : withoutEntries(text),
      );
    },
    remove: (text) => (text.trim() === '' ? text : withoutEntries(text)),
    has(text) {
      assertObject(path, text);
      return entries.every((entry) => hasEntry(text, entry));
    },
    isEmpty: (text) => /^\s*(?:\{\s*\})?\s*$/.test(text),
  };
}

function assertObject(path: string, text: string): void {
  let fault = '';
  try {
    if (isObject(parseJsonNodes(text).value)) return;
  } catch (error) {
    fault = ` (${(error as Error).message})`;
  }
  throw new CommandFailure(
    `${path} is not a JSON object${fault}, so nothing was changed. Fix it, then try again.`,
  );
}

function addEntry(path: string, text: string, { keyPath, kind, value }: JsonEntry): string {
  const containerPath = kind === 'item' ? keyPath : keyPath.slice(0, -1);
  let result = text;
  for (let depth = 1; depth <= containerPath.length; depth += 1) {
    const isList = kind === 'item' && depth === keyPath.length;
    const [outer, name] = [containerPath.slice(0, depth - 1), containerPath[depth - 1] as string];
    const node = nodeAt(result, [...outer, name]);
    if (node === null) result = addChild(result, outer, name, isList ? [] : {});
    else if (isList ? !Array.isArray(node.value) : !isObject(node.value))
      throw unexpectedValue(path, keyPath);
  }
  if (kind === 'item') return addChild(result, containerPath, null, value);
  if (nodeAt(result, keyPath) !== null)
    throw new CommandFailure(`${path} already has another ${keyPath.join('.')}. Rename that one first.`);
  return addChild(result, containerPath, keyPath.at(-1) as string, value);
}

/** Removes our entry, and containers that it leaves empty. */
function removeEntry(text: string, { keyPath, kind, isOurs }: JsonEntry): string {
  if (kind === 'item') {
    const isList = Array.isArray(nodeAt(text, keyPath)?.value);
    return isList ? removeChildren(text, keyPath, ({ node }) => isOurs(node.value)) : text;
  }
  const name = keyPath.at(-1);
  return removeChildren(
    text,
    keyPath.slice(0, -1),
    (child) => child.name === name && isOurs(child.node.value),
  );
}

function hasEntry(text: string, { keyPath, kind, isOurs }: JsonEntry): boolean {
  const node = nodeAt(text, keyPath);
  if (node === null) return false;
  return kind === 'item' ? [node.value].flat().some(isOurs) : isOurs(node.value);
}

const unexpectedValue = (path: string, keyPath: JsonPath): CommandFailure =>
  new CommandFailure(
    `${path} has an unexpected value at ${keyPath.join('.')}, so nothing was changed. Fix it, then try again.`,
  );
