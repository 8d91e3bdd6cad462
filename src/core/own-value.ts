/** The value of a record's own key. Inherited names such as `constructor` are not keys, even if a key comes from outside. */
export function ownValue<T>(record: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;
}
