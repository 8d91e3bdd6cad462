type DefinedFields<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** A copy without undefined fields, for types and formats that distinguish undefined fields from missing ones. */
export function withoutUndefined<T extends object>(fields: T): DefinedFields<T> {
  const copy = { ...fields } as Record<string, unknown>;
  // Most objects have no undefined field, and a copy without deleted fields stays fast.
  for (const name of Object.keys(copy)) if (copy[name] === undefined) delete copy[name];
  return copy as DefinedFields<T>;
}
