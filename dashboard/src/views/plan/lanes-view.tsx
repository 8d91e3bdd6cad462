import { useViewport } from '@xyflow/react';
import type { Lane } from './layout.js';

/** The lanes behind the tasks, and their names at the left edge whatever part of the plan is shown. */
export function Lanes({ lanes }: { lanes: readonly Lane[] }) {
  const { y, zoom } = useViewport();
  return (
    <>
      <div className="lanes" aria-hidden="true">
        {lanes.map((lane) => (
          <div key={lane.track} style={{ top: lane.y * zoom + y, height: lane.height * zoom }} />
        ))}
      </div>
      <div className="lane-names">
        {lanes.map((lane) => (
          <b key={lane.track} style={{ top: lane.y * zoom + y + 4 }}>
            {lane.track}
          </b>
        ))}
      </div>
    </>
  );
}
