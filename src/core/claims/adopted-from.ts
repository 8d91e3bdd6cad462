import type { AdoptedFrom } from '../events/claim-payload-schemas.js';

export type ImportedOrigin = Extract<AdoptedFrom, { readonly imported: true }>;

/** Whether the adopted work was imported. Otherwise it is a parked result. A log that is being checked may lack `from`. */
export const isImportedOrigin = (from: AdoptedFrom | undefined): from is ImportedOrigin =>
  (from as Partial<ImportedOrigin> | null | undefined)?.imported === true;

/** The id of the parked result that was adopted; null if the adopted work was imported. */
export const adoptedResultId = (from: AdoptedFrom): string | null =>
  isImportedOrigin(from) ? null : from.result_id;
