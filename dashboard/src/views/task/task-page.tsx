import { type ReactNode, useCallback, useMemo } from 'react';
import type { Reply } from '../../api/call.js';
import { useReply } from '../../api/use-reply.js';
import { AgentName } from '../../components/agent-name.js';
import { useHashQuery } from '../../components/hash-location.js';
import { ReadinessMark } from '../../components/readiness-mark.js';
import { QueryResult } from '../../components/states.js';
import { TimeText } from '../../components/time-text.js';
import { UntrustedBlock, UntrustedText } from '../../components/untrusted-text.js';
import { Claimability } from './claimability.js';
import { Dependencies } from './dependencies.js';
import { GenerationTimelineView } from './generation-timeline-view.js';
import { Generations, Origin } from './generations.js';
import { Notes } from './notes.js';
import { actionsFor } from './operator-actions.js';
import { OperatorButtons } from './operator-buttons.js';
import { planEntryOf } from './plan-entry.js';
import { ResultView } from './result-view.js';
import { Reviews } from './reviews.js';
import { Submissions } from './submissions.js';
import './task.css';

type TaskState = Reply<'get_task_state'>;

/** Everything about one task or edge. */
export default function TaskPage({ id }: { id: string }) {
  const params = { subject: id };
  const state = useReply('get_task_state', { params });
  return (
    <>
      <h1>
        <UntrustedText text={id} />
      </h1>
      <QueryResult query={state}>
        {(taskState) => (
          // The key resets the page for another task, so that no dialog or result stays open.
          <div key={taskState.task_id} className="task-page">
            <Summary state={taskState} />
            {taskState.phase === 'COMPLETED' ? null : (
              <Card title="Can it be claimed?">
                <Claimability subject={taskState.task_id} />
              </Card>
            )}
            <Description state={taskState} />
            <ResultCard state={taskState} />
            <History state={taskState} />
            <Card title="Notes">
              <Notes subject={taskState.task_id} />
            </Card>
          </div>
        )}
      </QueryResult>
    </>
  );
}

const Card = ({ title, children }: { title: string; children: ReactNode }) => (
  <section className="card" aria-label={title}>
    <h2>{title}</h2>
    {children}
  </section>
);

/** An address with `do` opens the dialog of an action: `#/task/A-001-x?do=hold`. */
function Summary({ state }: { state: TaskState }) {
  const [query, change] = useHashQuery();
  const onOpened = useCallback(() => change({ do: '' }), [change]);
  const { task_id, readiness, generation, claim, parked } = state;
  const isHeld = claim?.state === 'ACTIVE' || claim?.state === 'SUSPENDED';
  return (
    <section className="card" aria-label="State">
      <p className="row">
        <ReadinessMark readiness={readiness} />
        <span>generation {generation}</span>
        {isHeld ? (
          <span>
            held by <AgentName id={claim.agent_id} /> since <TimeText at={claim.claimed_at} />
          </span>
        ) : null}
        {parked > 0 ? <span className="mark mark-warn">{parked} parked</span> : null}
      </p>
      <OperatorButtons
        subject={task_id}
        generation={generation}
        actions={actionsFor(state)}
        initialAction={query.get('do')}
        onOpened={onOpened}
      />
    </section>
  );
}

function Description({ state }: { state: TaskState }) {
  const isEdge = state.task_id.includes('#');
  const plan = useReply('get_plan', {}, !isEdge);
  if (isEdge) return <EdgeDescription state={state} />;
  return (
    <QueryResult query={plan}>{(reply) => <TaskDescription plan={reply} id={state.task_id} />}</QueryResult>
  );
}

function TaskDescription({ plan, id }: { plan: Reply<'get_plan'>; id: string }) {
  const entry = useMemo(() => planEntryOf(plan, id), [plan, id]);
  if (entry === null) return <Card title="Description">This task is no longer in the plan.</Card>;
  return (
    <>
      <Card title="Description">
        <UntrustedBlock text={entry.description} />
        {entry.instructions === null ? null : <UntrustedBlock text={entry.instructions} />}
      </Card>
      <Card title="Dependencies">
        <Dependencies ids={entry.dependencies} />
      </Card>
    </>
  );
}

function EdgeDescription({ state: { title = '', checks = [] } }: { state: TaskState }) {
  return (
    <Card title="Description">
      <p>
        <UntrustedText text={title} />
      </p>
      <ul>
        {checks.map(({ name, type, criterion, required, skipped }) => (
          <li key={name}>
            <span className="mark">{type}</span> <UntrustedText text={`${name}: ${criterion}`} />
            {required ? '' : ' (not required)'}
            {skipped === null ? '' : ` skipped: ${skipped}`}
          </li>
        ))}
      </ul>
    </Card>
  );
}

function ResultCard({ state: { task_id, result } }: { state: TaskState }) {
  if (result === null) return null;
  return (
    <Card title="Result">
      <p className="quiet">
        <ResultOrigin subject={task_id} result={result} />, <TimeText at={result.submitted_at} />. Digest{' '}
        <span className="mono digest">{result.sha256}</span>
      </p>
      <ResultView subject={task_id} resultId={result.result_id} />
    </Card>
  );
}

/** Who made the result, and who adopted it if it was parked. */
function ResultOrigin({ subject, result }: { subject: string; result: NonNullable<TaskState['result']> }) {
  const lineage = useReply('get_claim_history', { params: { subject } }).data;
  const from = lineage?.generations.find(({ generation }) => generation === result.generation)?.adopted_from;
  const actor = <AgentName id={result.agent_id} />;
  if (from == null)
    return (
      <>
        Of {actor}, generation {result.generation}
      </>
    );
  return (
    <>
      As generation {result.generation} <Origin from={from} />, by {actor}
    </>
  );
}

function History({ state }: { state: TaskState }) {
  const history = useReply('get_claim_history', { params: { subject: state.task_id } });
  return (
    <QueryResult query={history}>
      {(lineage) => (
        <>
          <Card title="Lineage">
            <GenerationTimelineView history={{ lineage, isCompleted: state.phase === 'COMPLETED' }} />
            <Generations history={{ lineage, isCompleted: state.phase === 'COMPLETED' }} />
          </Card>
          {lineage.rejected.length === 0 ? null : (
            <Card title="Refused submissions">
              <Submissions state={state} lineage={lineage} />
            </Card>
          )}
          {lineage.reviews.length === 0 ? null : (
            <Card title="Reviews">
              <Reviews reviews={lineage.reviews} />
            </Card>
          )}
        </>
      )}
    </QueryResult>
  );
}
