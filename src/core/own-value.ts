/**
 * The value of a record's own key; undefined for an inherited name such as `constructor`, so that keys from outside are
 * safe.
 */
export function ownValue<T>(record: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;
}
