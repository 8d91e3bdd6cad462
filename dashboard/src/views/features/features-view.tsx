import type { MethodologyStatus } from '../../../../src/core/contract/methodology-views.js';
import { CallFailure } from '../../api/call.js';
import { useHashQuery } from '../../components/hash-location.js';
import { Empty, QueryResult } from '../../components/states.js';
import { BlockedFeatures } from './blocked-features.js';
import { FeatureDetail } from './feature-detail.js';
import { FeatureTable } from './feature-table.js';
import { Gaps } from './gaps.js';
import { matrixOf } from './matrix.js';
import { ProjectTimeline } from './project-timeline.js';
import { SpawnForestView } from './spawn-forest-view.js';
import { useFeatures } from './use-features.js';
import { YouAreHere } from './you-are-here.js';
import './features.css';

/** The progress of each feature on each edge, what comes next, and what blocks a feature. */
export default function FeaturesView() {
  const query = useFeatures();
  const isUnknown = query.error instanceof CallFailure && query.error.code === 'UNKNOWN_PROJECT';
  return (
    <div className="features">
      <h1>Features</h1>
      {isUnknown ? (
        <NoWorkspace />
      ) : (
        <QueryResult query={query}>{(status) => <Features status={status} />}</QueryResult>
      )}
    </div>
  );
}

const NoWorkspace = () => (
  <Empty title="This project has no methodology">
    <p>
      Features and edges come from a workspace. Make one in the folder of the project: <code>gen init</code>
    </p>
  </Empty>
);

function Features({ status }: { status: MethodologyStatus }) {
  const [query, change] = useHashQuery();
  if (status.state === 'UNINITIALISED') return <NoWorkspace />;
  const { features, project, start_would } = status;
  const chosen = query.get('feature') ?? start_would.feature ?? features[0]?.feature_id ?? null;
  const chooseFeature = (feature: string) => change({ feature });
  return (
    <>
      <YouAreHere status={status} />
      <section className="card" aria-label="Progress">
        <h2>
          {project.edges_completed} of {project.edges_total} edges converged, {project.percent} %
        </h2>
        <progress
          className="features-progress"
          aria-label="Converged edges"
          value={project.edges_completed}
          max={Math.max(1, project.edges_total)}
        />
        {features.length === 0 ? (
          <Empty title="There is no feature yet">
            <p>
              Add one: <code>gen spawn --type feature</code>
            </p>
          </Empty>
        ) : (
          <FeatureTable matrix={matrixOf(status)} chosen={chosen} onChoose={chooseFeature} />
        )}
      </section>
      <BlockedFeatures status={status} onChoose={chooseFeature} />
      <ProjectTimeline status={status} />
      <SpawnForestView status={status} onChoose={chooseFeature} />
      {chosen === null ? null : <FeatureDetail key={chosen} id={chosen} onChoose={chooseFeature} />}
      <Gaps />
    </>
  );
}
