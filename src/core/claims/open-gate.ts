import type { Gate, Head } from './head.js';

/** The gate that waits for the decision of a person; null if no gate does. A claim can be suspended without a gate. */
export function openGateOf({
  generation,
  claim,
  gate,
}: Pick<Head, 'generation' | 'claim' | 'gate'>): Gate | null {
  if (claim?.state !== 'SUSPENDED' || gate === null) return null;
  return gate.decision === null && gate.generation === generation ? gate : null;
}
