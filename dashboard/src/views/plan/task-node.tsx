import type { NodeProps } from '@xyflow/react';
import { memo } from 'react';
import { TaskLink } from '../../components/links.js';
import { ReadinessMark } from '../../components/readiness-mark.js';
import { visibleText } from '../../components/untrusted-text.js';
import type { PlanNode } from './graph-elements.js';
import { holderOf } from './plan-tasks.js';

/** A task in the graph: its state, its holder and generation, and whether it is on the critical path. */
export const TaskNode = memo(function TaskNode({ data: { task, isCritical } }: NodeProps<PlanNode>) {
  const { id, state, subtasks, description } = task;
  const holder = holderOf(state);
  // Names may be cut off.
  const title = [id, holder, visibleText(description)].filter((text) => text !== '').join('\n');
  return (
    <div className={`task-node${isCritical ? ' task-critical' : ''}`} title={title}>
      <div className="task-id">
        <TaskLink id={id} />
      </div>
      <div className="task-line">
        {state === null ? null : <ReadinessMark readiness={state.readiness} />}
        <span className="task-holder">{holder}</span>
        {isCritical ? <span className="critical-text">critical</span> : null}
      </div>
      <div className="task-line quiet">
        <span title="generation">gen. {state?.generation ?? '?'}</span>
        {subtasks.total === 0 ? null : (
          <span>
            {subtasks.completed}/{subtasks.total} parts
          </span>
        )}
        {state === null || state.parked === 0 ? null : (
          <span className="mark mark-warn">{state.parked} parked</span>
        )}
      </div>
    </div>
  );
});
