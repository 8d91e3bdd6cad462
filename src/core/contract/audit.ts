import { z } from 'zod';
import { anchorLine } from '../audit/checkpoint.js';
import { consistencyProof, inclusionProof } from '../audit/proof.js';
import { type ApiOperations, PROJECT_PATH, read } from './operation.js';

const position = z.coerce.number<string>().int().min(1);

export const auditOperations = {
  audit_head: read(`${PROJECT_PATH}/audit/head`, 'Get the last signed checkpoint of the log', {
    reply: anchorLine,
  }),
  audit_proof: read(
    `${PROJECT_PATH}/audit/proof`,
    'Prove that the event at a position is in the log of the last checkpoint',
    { query: z.strictObject({ position }), reply: inclusionProof },
  ),
  audit_consistency: read(
    `${PROJECT_PATH}/audit/consistency`,
    'Prove that the log of a checkpoint is the beginning of that of a later one, by default the last',
    { query: z.strictObject({ from: position, to: position.exactOptional() }), reply: consistencyProof },
  ),
} as const satisfies ApiOperations;
