import { z } from 'zod';
import { ROLES } from '../roles.js';
import { type ApiOperations, readOperation } from './operation.js';
import { namedObject, type ReplyOf } from './schema.js';

const whoamiReply = namedObject('Caller', {
  /** The user of the credential, otherwise its label or id. Null if the server requires no credential. */
  name: z.string().nullable(),
  role: z.enum(ROLES),
  /** Null: every tenant. */
  tenant_id: z.string().nullable(),
  /** Ids of the operations that the caller may call in its tenant, sorted. */
  operations: z.array(z.string()),
});
export type WhoamiReply = ReplyOf<typeof whoamiReply>;

export const whoamiOperations = {
  whoami: {
    ...readOperation(
      '/api/whoami',
      'Get the name, role and tenant of the caller, and the operations it may call',
      {
        reply: whoamiReply,
      },
    ),
    tenant: 'own',
  },
} as const satisfies ApiOperations;
