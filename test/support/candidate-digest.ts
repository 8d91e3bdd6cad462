import { sha256Hex } from '../../src/coordinator/runtime/identity.js';
import { canonicalJson } from '../../src/core/canonical-json.js';

/** The digest that names a candidate, computed from its data. */
export const candidateDigest = (data: unknown): string => sha256Hex(canonicalJson(data));
