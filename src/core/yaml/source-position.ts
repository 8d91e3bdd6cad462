/** Path from the root of a document: field names and item indexes. */
export type DocumentPath = readonly (string | number)[];

/** Line and column, counted from 1. */
export interface SourcePosition {
  readonly line: number;
  readonly column: number;
}

/** Source position of a path, or of its nearest ancestor; null if there is no text. */
export type LocatePath = (path: DocumentPath) => SourcePosition | null;

/** Renders a path as in `tracks.A[0].depends_on[1]`. */
export const pathText = (path: DocumentPath): string =>
  path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`))
    .join('');
