import { useState } from 'react';
import type { RunSummary } from '../../../../src/core/contract/runs.js';
import { command } from '../../api/call.js';
import { useMay } from '../../api/permissions.js';
import { ReadOnlyNote } from '../../components/refusal-text.js';
import { DialogButton, OperatorDialog } from '../task/operator-dialog.js';

const COMMENT_LENGTH_MAX = 1000;

/** Cancels a run that has not ended. */
export function CancelRunButton({ run: { run_id } }: { run: Pick<RunSummary, 'run_id'> }) {
  const mayOperate = useMay('operate');
  const [isOpen, setOpen] = useState(false);
  // An open dialog stays until it is closed: it shows the refusal.
  if (!mayOperate && !isOpen) return <ReadOnlyNote />;
  return (
    <DialogButton name="Cancel the run…" label="Cancel the run…" isDanger onOpen={setOpen}>
      {(close) => (
        <OperatorDialog
          title={`Cancel run ${run_id.slice(0, 8)}`}
          effect="The run ends now, and its executor loses the claim of the edge."
          confirm="Cancel the run"
          dismiss="Let it run"
          draftKey={`cancel_run:${run_id}`}
          permission="operate"
          reasonLengthMax={COMMENT_LENGTH_MAX}
          send={(comment) => command('cancel_run', { comment }, { run_id })}
          onClose={close}
        />
      )}
    </DialogButton>
  );
}
