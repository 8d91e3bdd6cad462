import { CommandFailure } from '../exit.js';
import type { Part } from './part.js';

type Json = Record<string, unknown>;

/** A member of an object, or an item of a list: the one at `at` that `isOurs` knows. */
export interface Entry {
  readonly at: readonly string[];
  readonly kind: 'member' | 'item';
  readonly value: unknown;
  readonly isOurs: (value: unknown) => boolean;
}

/** Entries in a file of JSON. Whatever else is in it stays, in its order and with its indentation. */
export function jsonPart(path: string, about: string, entries: readonly Entry[]): Part {
  return {
    path,
    about,
    put(text) {
      const whole = text === null ? {} : objectIn(path, text);
      for (const entry of entries) remove(whole, entry.at, entry);
      for (const entry of entries) add(path, whole, entry);
      return written(whole, text);
    },
    take(text) {
      const whole = objectIn(path, text);
      const all = JSON.stringify(whole);
      for (const entry of entries) remove(whole, entry.at, entry);
      // Where nothing is ours, not even the layout is touched.
      return JSON.stringify(whole) === all ? text : written(whole, text);
    },
    isEmpty: (text) => Object.keys(objectIn(path, text)).length === 0,
  };
}

function objectIn(path: string, text: string): Json {
  try {
    const whole = text.trim() === '' ? {} : JSON.parse(text);
    if (isObject(whole)) return whole;
  } catch {
    // Told below.
  }
  throw new CommandFailure(`${path} is not a JSON object, so nothing was changed. Mend it, then try again.`);
}

function written(whole: Json, text: string | null): string {
  const indentation = /^[ \t]+/m.exec(text ?? '')?.[0] ?? '  ';
  return JSON.stringify(whole, null, indentation) + (text === null || text.endsWith('\n') ? '\n' : '');
}

function add(path: string, whole: Json, { at, kind, value }: Entry): void {
  const name = at.at(-1) as string;
  let place = whole;
  for (const step of at.slice(0, -1)) {
    place[step] ??= {};
    const inner = place[step];
    if (!isObject(inner)) throw unexpected(path, at);
    place = inner;
  }
  if (kind === 'item') {
    const list = place[name] ?? [];
    if (!Array.isArray(list)) throw unexpected(path, at);
    place[name] = [...list, value];
  } else if (place[name] === undefined) place[name] = value;
  else throw new CommandFailure(`${path} has a ${at.join('.')} of its own. Rename that first.`);
}

/** Takes ours out, and what holds nothing any more without it. */
function remove(place: Json, [step = '', ...rest]: readonly string[], entry: Entry): void {
  const inner = place[step];
  if (rest.length > 0) {
    if (!isObject(inner)) return;
    const had = Object.keys(inner).length;
    remove(inner, rest, entry);
    if (had > 0 && Object.keys(inner).length === 0) delete place[step];
  } else if (entry.kind === 'item') {
    if (!Array.isArray(inner)) return;
    const others = inner.filter((item) => !entry.isOurs(item));
    if (inner.length > 0 && others.length === 0) delete place[step];
    else place[step] = others;
  } else if (inner !== undefined && entry.isOurs(inner)) delete place[step];
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const unexpected = (path: string, at: readonly string[]): CommandFailure =>
  new CommandFailure(`${path} has something else at ${at.join('.')}, so nothing was changed.`);
