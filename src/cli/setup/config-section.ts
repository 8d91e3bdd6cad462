/** Our part of a configuration file that may also hold other content. */
export interface ConfigSection {
  readonly path: string;
  /** Description for the user. */
  readonly about: string;
  /** Returns the text with our part in it exactly once, and other content unchanged. Null: there is no file. */
  insert(text: string | null): string;
  /** Returns the text without our part. */
  remove(text: string): string;
  /** Whether the text has no content. */
  isEmpty(text: string): boolean;
}
