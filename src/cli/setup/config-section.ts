/** What is ours in a file that may hold what is others'. */
export interface ConfigSection {
  readonly path: string;
  /** For a person: what it is. */
  readonly about: string;
  /** The text with ours in it. Null: there is no file. What was there stays; ours is there once. */
  insert(text: string | null): string;
  /** The text without ours. */
  remove(text: string): string;
  /** Whether a text says nothing. */
  isEmpty(text: string): boolean;
}
