import type { AdoptedFrom } from '../events/claim-payload-schemas.js';

export type ImportedOrigin = Extract<AdoptedFrom, { readonly imported: true }>;

/** Whether imported work was adopted, not a parked result. A log that is being checked may lack the field. */
export const isImportedOrigin = (from: AdoptedFrom | undefined): from is ImportedOrigin =>
  (from as Partial<ImportedOrigin> | null | undefined)?.imported === true;

/** The parked result that was adopted; null if it was imported work. */
export const adoptedResultId = (from: AdoptedFrom): string | null =>
  isImportedOrigin(from) ? null : from.result_id;
