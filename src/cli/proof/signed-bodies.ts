import type { ProjectIds } from '../../core/audit/audit-values.js';
import type { ProofEvent } from '../../core/audit/task-proof/proof-event.js';
import {
  commandsOf,
  type SignatureChecks,
  type SignedCommandBody,
  signedBodyFault,
} from '../../core/audit/task-proof/session-signatures.js';
import { canonicalJson } from '../../core/canonical-json.js';

/** The body of a command as it was sent. */
export type SentBody = Readonly<Record<string, unknown>>;

interface ProvenEvents {
  readonly project: ProjectIds;
  readonly events: readonly ProofEvent[];
}

/** Finds the body of each signed event among the sent bodies: the signature fits only that body. */
export function signedBodies(
  proven: ProvenEvents,
  sent: readonly SentBody[],
  checks: SignatureChecks,
): SignedCommandBody[] {
  return proven.events.flatMap((event) => {
    if (event.payload?.signature === undefined) return [];
    const bodies = sent
      .filter(({ request_id }) => request_id === event.request_id)
      .map((body) => canonicalJson({ ...body, signature: undefined }));
    const possibleCommands = bodies.flatMap((body) =>
      commandsOf(event).map((command) => ({ position: event.position, command, body })),
    );
    return possibleCommands.find((command) => signedBodyFault(command, proven, checks) === null) ?? [];
  });
}
