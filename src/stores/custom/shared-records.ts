/**
 * The storage of a shared store: named logs of texts, numbered from 1 without gaps. Adding compares and swaps: of two
 * coordinators that add the same number, one succeeds. Names of logs have the characters `a-z`, `0-9` and `-`, at most
 * 80 of them.
 *
 * Any method may reject. `add` rejects with `StoreUnavailable` only if it is certain that nothing was written.
 */
export interface SharedRecords {
  /**
   * The records after this number, in order: all of them, or the first page. Empty: there are no more. A page is read at
   * one moment: if it has a record, the replacements that were made before that record was added are in it too.
   */
  read(log: string, after: number): Promise<readonly string[]>;
  /** Adds a record under this number, durable when the promise resolves. False: the number is taken; nothing was written. */
  add(log: string, number: number, record: string): Promise<boolean>;
  /** Replaces a record that is still `before`, so that retention can redact it. False: the record has changed. */
  replace(log: string, number: number, before: string, after: string): Promise<boolean>;
  close(): Promise<void>;
}
