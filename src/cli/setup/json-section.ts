import { CommandFailure } from '../exit.js';
import type { ConfigSection } from './config-section.js';

type ConfigJson = Record<string, unknown>;

/** A member of an object or an item of a list: the one at `keyPath` that `isOurs` recognizes. */
export interface JsonEntry {
  readonly keyPath: readonly string[];
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
      for (const entry of entries) removeEntry(whole, entry.keyPath, entry);
      for (const entry of entries) addEntry(path, whole, entry);
      return serialize(whole, text);
    },
    remove(text) {
      const whole = parseObject(path, text);
      const all = JSON.stringify(whole);
      for (const entry of entries) removeEntry(whole, entry.keyPath, entry);
      // If nothing was removed, keep the text byte for byte.
      return JSON.stringify(whole) === all ? text : serialize(whole, text);
    },
    isEmpty: (text) => Object.keys(parseObject(path, text)).length === 0,
  };
}

function parseObject(path: string, text: string): ConfigJson {
  try {
    const whole = text.trim() === '' ? {} : JSON.parse(text);
    if (isObject(whole)) return whole;
  } catch {
    // Falls through to the failure below.
  }
  throw new CommandFailure(`${path} is not a JSON object, so nothing was changed. Mend it, then try again.`);
}

function serialize(whole: ConfigJson, text: string | null): string {
  const indentation = /^[ \t]+/m.exec(text ?? '')?.[0] ?? '  ';
  return JSON.stringify(whole, null, indentation) + (text === null || text.endsWith('\n') ? '\n' : '');
}

function addEntry(path: string, whole: ConfigJson, { keyPath, kind, value }: JsonEntry): void {
  const name = keyPath.at(-1) as string;
  let container = whole;
  for (const step of keyPath.slice(0, -1)) {
    container[step] ??= {};
    const inner = container[step];
    if (!isObject(inner)) throw unexpectedValue(path, keyPath);
    container = inner;
  }
  if (kind === 'item') {
    const list = container[name] ?? [];
    if (!Array.isArray(list)) throw unexpectedValue(path, keyPath);
    container[name] = [...list, value];
  } else if (container[name] === undefined) container[name] = value;
  else throw new CommandFailure(`${path} has a ${keyPath.join('.')} of its own. Rename that first.`);
}

/** Removes our entry, and containers that it leaves empty. */
function removeEntry(container: ConfigJson, [step = '', ...rest]: readonly string[], entry: JsonEntry): void {
  const inner = container[step];
  if (rest.length > 0) {
    if (!isObject(inner)) return;
    const had = Object.keys(inner).length;
    removeEntry(inner, rest, entry);
    if (had > 0 && Object.keys(inner).length === 0) delete container[step];
  } else if (entry.kind === 'item') {
    if (!Array.isArray(inner)) return;
    const others = inner.filter((item) => !entry.isOurs(item));
    if (inner.length > 0 && others.length === 0) delete container[step];
    else container[step] = others;
  } else if (inner !== undefined && entry.isOurs(inner)) delete container[step];
}

const isObject = (value: unknown): value is ConfigJson =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const unexpectedValue = (path: string, keyPath: readonly string[]): CommandFailure =>
  new CommandFailure(`${path} has something else at ${keyPath.join('.')}, so nothing was changed.`);
