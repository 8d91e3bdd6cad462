import { CommandFailure } from '../exit.js';
import { jsonOrText } from '../json-or-text.js';
import type { ConfigSection } from './apply.js';

type ConfigJson = Record<string, unknown>;

/** A member of an object or an item of a list: the one at `keyPath` that `isOurs` recognizes. */
export interface JsonEntry {
  readonly keyPath: readonly [outer: string, name: string];
  readonly kind: 'member' | 'item';
  readonly value: unknown;
  readonly isOurs: (value: unknown) => boolean;
}

/** Entries in a JSON file. Other content keeps its order and its indentation. */
export function jsonSection(path: string, about: string, entries: readonly JsonEntry[]): ConfigSection {
  return {
    path,
    about,
    insert(text) {
      const whole = text === null ? {} : parseObject(path, text);
      for (const entry of entries) removeEntry(whole, entry);
      for (const entry of entries) addEntry(path, whole, entry);
      return serialize(whole, text);
    },
    remove(text) {
      const whole = parseObject(path, text);
      const all = JSON.stringify(whole);
      for (const entry of entries) removeEntry(whole, entry);
      // If nothing was removed, keep the text byte for byte.
      return JSON.stringify(whole) === all ? text : serialize(whole, text);
    },
    isEmpty: (text) => Object.keys(parseObject(path, text)).length === 0,
  };
}

function parseObject(path: string, text: string): ConfigJson {
  const whole = text.trim() === '' ? {} : jsonOrText(text);
  if (isObject(whole)) return whole;
  throw new CommandFailure(`${path} is not a JSON object, so nothing was changed. Fix it, then try again.`);
}

function serialize(whole: ConfigJson, text: string | null): string {
  const indentation = /^[ \t]+/m.exec(text ?? '')?.[0] ?? '  ';
  return JSON.stringify(whole, null, indentation) + (text === null || text.endsWith('\n') ? '\n' : '');
}

function addEntry(path: string, whole: ConfigJson, { keyPath, kind, value }: JsonEntry): void {
  const [outer, name] = keyPath;
  whole[outer] ??= {};
  const container = whole[outer];
  if (!isObject(container)) throw unexpectedValue(path, keyPath);
  if (kind === 'item') {
    const list = container[name] ?? [];
    if (!Array.isArray(list)) throw unexpectedValue(path, keyPath);
    container[name] = [...list, value];
  } else if (container[name] === undefined) container[name] = value;
  else throw new CommandFailure(`${path} already has another ${keyPath.join('.')}. Rename that one first.`);
}

/** Removes our entry, and containers that it leaves empty. */
function removeEntry(whole: ConfigJson, { keyPath: [outer, name], kind, isOurs }: JsonEntry): void {
  const container = whole[outer];
  if (!isObject(container)) return;
  const found = container[name];
  const items = kind === 'item' ? found : [found];
  if (found === undefined || !Array.isArray(items)) return;
  const others = items.filter((item) => !isOurs(item));
  if (others.length === items.length) return;
  if (others.length > 0) container[name] = others;
  else delete container[name];
  if (Object.keys(container).length === 0) delete whole[outer];
}

const isObject = (value: unknown): value is ConfigJson =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const unexpectedValue = (path: string, keyPath: readonly string[]): CommandFailure =>
  new CommandFailure(
    `${path} has an unexpected value at ${keyPath.join('.')}, so nothing was changed. Fix it, then try again.`,
  );
