/** Steps from the top of a document: names of fields, numbers of items. */
export type DocumentPath = readonly (string | number)[];

/** Counted from 1. */
export interface SourcePosition {
  readonly line: number;
  readonly column: number;
}

/** Where in the text a path is, or the nearest thing around it; null: there is no text. */
export type LocatePath = (path: DocumentPath) => SourcePosition | null;

/** As in `tracks.A[0].depends_on[1]`. */
export const pathText = (path: DocumentPath): string =>
  path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`))
    .join('');
