/** Steps from the top of a document: names of fields, numbers of items. */
export type Path = readonly (string | number)[];

/** Counted from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** Where in the text a path is, or the nearest thing around it; null: there is no text. */
export type Locate = (path: Path) => Place | null;

/** As in `tracks.A[0].depends_on[1]`. */
export const pathText = (path: Path): string =>
  path.map((step, at) => (typeof step === 'number' ? `[${step}]` : at === 0 ? step : `.${step}`)).join('');
