import type { AdoptedFrom } from '../events/claim-payload-schemas.js';

export type ImportedOrigin = Extract<AdoptedFrom, { readonly imported: true }>;

/**
 * Whether the adopted work was imported; otherwise it is a parked result. `from` can be missing in a log that is being
 * checked.
 */
export const isImportedOrigin = (from: AdoptedFrom | undefined): from is ImportedOrigin =>
  (from as Partial<ImportedOrigin> | null | undefined)?.imported === true;

/** The id of the parked result that was adopted; null if the adopted work was imported. */
export const adoptedResultId = (from: AdoptedFrom): string | null =>
  isImportedOrigin(from) ? null : from.result_id;
