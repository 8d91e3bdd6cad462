import { useState } from 'react';
import type { RunSummary } from '../../../../src/core/contract/runs.js';
import { command } from '../../api/call.js';
import { useIsAllowed } from '../../api/whoami.js';
import { DialogButton, OperatorDialog } from '../task/operator-dialog.js';
import { shortRunId } from './run-texts.js';

const COMMENT_LENGTH_MAX = 1000;

/** Cancels a run that has not ended. */
export function CancelRunButton({ run: { run_id } }: { run: Pick<RunSummary, 'run_id'> }) {
  const [isOpen, setOpen] = useState(false);
  if (!useIsAllowed('cancel_run')) return null;
  return (
    <DialogButton
      text="Cancel the run…"
      ariaLabel="Cancel the run…"
      isDanger
      isOpen={isOpen}
      onOpen={setOpen}
    >
      {(close) => (
        <OperatorDialog
          title={`Cancel run ${shortRunId(run_id)}`}
          effect="The run ends now, and its executor loses the claim of the edge."
          confirmText="Cancel the run"
          dismissText="Keep the run"
          unsentTextKey={`cancel_run:${run_id}`}
          reasonLengthMax={COMMENT_LENGTH_MAX}
          send={(comment) => command('cancel_run', { comment }, { run_id })}
          onClose={close}
        />
      )}
    </DialogButton>
  );
}
