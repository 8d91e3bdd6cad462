import { useQuery } from '@tanstack/react-query';
import type { RunDetails } from '../../../../src/core/contract/runs.js';
import { readBlobText } from '../task/blob.js';
import { type MachineOutline, machineOutline } from './machine-outline.js';
import { storedDigest } from './run-texts.js';

/** The state machine of a run. Null: not compiled yet, not stored on this server, or not readable; undefined: not read yet. */
export function useMachine({ machine }: Pick<RunDetails, 'machine'>): MachineOutline | null | undefined {
  const sha256 = machine === null ? null : storedDigest(machine);
  const { data, error } = useQuery({
    queryKey: ['machine', sha256],
    queryFn: async () => {
      const blob = await readBlobText(sha256 as string);
      return blob.kind === 'text' && !blob.isCut ? machineOutline(blob.text) : null;
    },
    enabled: sha256 !== null,
    retry: false,
    // The content of a digest never changes.
    meta: { isFixed: true },
    staleTime: Number.POSITIVE_INFINITY,
  });
  return sha256 === null || error ? null : data;
}
