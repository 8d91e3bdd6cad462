import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { refusalOf, refusalOfError, type ShownRefusal } from './refusal.js';

interface CommandRunner {
  readonly isBusy: boolean;
  readonly refusal: ShownRefusal | null;
  /** Returns whether the command took effect. */
  run(send: () => Promise<object>): Promise<boolean>;
}

/** Sends commands. Keeps whether one is under way, and the refusal of the last one. */
export function useCommand(): CommandRunner {
  const client = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<ShownRefusal | null>(null);
  const run = async (send: () => Promise<object>): Promise<boolean> => {
    setBusy(true);
    const newRefusal = await send().then(refusalOf, refusalOfError);
    setRefusal(newRefusal);
    setBusy(false);
    // After a refusal the data is read again: often it has changed meanwhile.
    void client.invalidateQueries({ predicate: ({ meta }) => meta?.isFixed !== true });
    return newRefusal === null;
  };
  return { isBusy, refusal, run };
}
