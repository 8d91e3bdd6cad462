import type { RunSummary } from '../../../../src/core/contract/runs.js';
import { visibleText } from '../../components/untrusted-text.js';
import { STATUS_TONES } from './run-model.js';

/** The status of a run, and why it was escalated or has failed. */
export const RunStatusMark = ({
  run: { status, reason },
}: {
  run: Pick<RunSummary, 'status' | 'reason'>;
}) => (
  <>
    <span className={`mark ${STATUS_TONES[status]}`}>{status}</span>
    {reason === null ? null : <span className="quiet"> {visibleText(reason)}</span>}
  </>
);
