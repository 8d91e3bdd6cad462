import type { FeatureView } from '../../../../src/core/contract/methodology-views.js';
import { TaskLink } from '../../components/links.js';
import { QueryResult } from '../../components/states.js';
import { visibleText } from '../../components/untrusted-text.js';
import { EdgeTimeline } from './edge-timeline.js';
import { SpawnTree } from './spawn-tree.js';
import { useFeature } from './use-features.js';

interface Props {
  readonly id: string;
  readonly onChoose: (feature: string) => void;
}

/** Timeline, dependencies and spawned work of one feature. */
export function FeatureDetail({ id, onChoose }: Props) {
  const query = useFeature(id);
  return (
    <section className="card" aria-label="Chosen feature">
      <h2>{visibleText(id)}</h2>
      <QueryResult query={query}>
        {(feature) => (
          <>
            <p>
              {visibleText(feature.title)}{' '}
              <span className="quiet">
                {feature.vector_type}, profile {visibleText(feature.profile)},{' '}
                {feature.status.replaceAll('_', ' ')}
              </span>
            </p>
            <h3>Edges</h3>
            <EdgeTimeline feature={feature} />
            <h3>Waits for</h3>
            <Obstacles feature={feature} />
            <h3>Spawned</h3>
            <SpawnTree feature={feature} onChoose={onChoose} />
          </>
        )}
      </QueryResult>
    </section>
  );
}

function Obstacles({ feature }: { feature: FeatureView }) {
  const edges = feature.trajectory.filter(({ blocked_by, hold }) => blocked_by !== null || hold !== null);
  if (feature.dependencies.length === 0 && edges.length === 0)
    return <p className="quiet">Nothing blocks this feature.</p>;
  return (
    <ul className="features-blocks">
      {feature.dependencies.map(({ feature: other, asset, status }) => (
        <li key={`${other} ${asset}`}>
          <b>{visibleText(other)}</b>
          {asset === null ? '' : `, ${visibleText(asset)}`}: {visibleText(status)}
        </li>
      ))}
      {edges.map(({ edge, blocked_by, hold }) => (
        <li key={edge}>
          <TaskLink id={`${feature.feature_id}#${edge}`} />: {visibleText(blocked_by ?? hold ?? '')}
        </li>
      ))}
    </ul>
  );
}
