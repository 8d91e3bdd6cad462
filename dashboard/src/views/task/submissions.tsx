import type { Reply } from '../../api/call.js';
import { AgentName } from '../../components/agent-name.js';
import { Disclosure } from '../../components/disclosure.js';
import { QueryResult } from '../../components/states.js';
import { TimeText } from '../../components/time-text.js';
import { UntrustedText } from '../../components/untrusted-text.js';
import { adoptedIds } from './generation-timeline.js';
import { AdoptButton } from './operator-buttons.js';
import { contentOf } from './result-content.js';
import { ContentDifference, ResultView, useResult } from './result-view.js';

type TaskState = Reply<'get_task_state'>;
type Lineage = Reply<'get_claim_history'>;
type Submission = Lineage['rejected'][number];

const SHOWN_MAX = 50;

/** The refused submissions, newest first, each with its data, its difference to the accepted result, and its adoption. */
export function Submissions({ state, lineage }: { state: TaskState; lineage: Lineage }) {
  const adopted = adoptedIds(lineage);
  const shown = lineage.rejected.slice(-SHOWN_MAX).reverse();
  return (
    <ul className="submissions">
      {shown.map((submission) => (
        <li key={submission.id}>
          <SubmissionEntry state={state} submission={submission} isAdopted={adopted.has(submission.id)} />
        </li>
      ))}
    </ul>
  );
}

export function SubmissionEntry({
  state,
  submission,
  isAdopted,
}: {
  state: TaskState;
  submission: Submission;
  isAdopted: boolean;
}) {
  const { id, agent_id, session_id, generation, current_generation, submitted_at, parked } = submission;
  const { task_id: subject, result } = state;
  const storedState = isAdopted ? 'adopted' : parked ? 'parked' : 'not kept';
  return (
    <>
      <p className="row">
        <span className="mark mark-bad">{submission.rejection_reason}</span>
        <span className={`mark ${isAdopted ? 'mark-good' : parked ? 'mark-warn' : ''}`}>{storedState}</span>
        <span>
          <AgentName id={agent_id} /> (<UntrustedText text={session_id} />) submitted it for generation{' '}
          {generation}, and generation {current_generation} was current
        </span>
        <TimeText at={submitted_at} />
      </p>
      {parked ? (
        <Disclosure title="Its data">{() => <ResultView subject={subject} resultId={id} />}</Disclosure>
      ) : null}
      {parked && result !== null && !isAdopted ? (
        <Disclosure title="Difference to the accepted result">
          {() => <ResultDifference subject={subject} acceptedId={result.result_id} otherId={id} />}
        </Disclosure>
      ) : null}
      {parked && !isAdopted ? (
        <AdoptButton
          subject={subject}
          generation={state.generation}
          resultId={id}
          isCompleted={state.phase === 'COMPLETED'}
        />
      ) : null}
    </>
  );
}

function ResultDifference(props: { subject: string; acceptedId: string; otherId: string }) {
  const accepted = useResult(props.subject, props.acceptedId);
  const other = useResult(props.subject, props.otherId);
  return (
    <QueryResult query={accepted}>
      {(acceptedResult) => (
        <QueryResult query={other}>
          {(otherResult) =>
            acceptedResult === null || otherResult === null ? null : (
              <ContentDifference accepted={contentOf(acceptedResult)} other={contentOf(otherResult)} />
            )
          }
        </QueryResult>
      )}
    </QueryResult>
  );
}
