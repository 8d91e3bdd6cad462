import { lazy, Suspense } from 'react';
import { Link, Route, Router, Switch } from 'wouter';
import { scope } from './api/scope.js';
import { Frame } from './components/frame.js';
import { useHashPath } from './components/hash-location.js';
import { Empty, Loading } from './components/states.js';
import { LiveProvider } from './live/live.js';
import { FleetView } from './views/fleet/fleet-view.js';
import { ProjectsView } from './views/projects/projects-view.js';

const PlanView = lazy(() => import('./views/plan/plan-view.js'));
const TaskPage = lazy(() => import('./views/task/task-page.js'));
const RunsView = lazy(() => import('./views/runs/runs-view.js'));
const RunPage = lazy(() => import('./views/runs/run-page.js'));
const InboxView = lazy(() => import('./views/inbox/inbox-view.js'));
const FeaturesView = lazy(() => import('./views/features/features-view.js'));
const LogView = lazy(() => import('./views/log/log-view.js'));

/** The address is the state of the page: a view can be linked to, and the back button works. */
export function App() {
  if (scope().project === '') return <ProjectsView />;
  return (
    <LiveProvider>
      <Router hook={useHashPath}>
        <Frame>
          <Suspense fallback={<Loading />}>
            <Switch>
              <Route path="/" component={FleetView} />
              <Route path="/plan" component={PlanView} />
              <Route path="/task/:id">{({ id }) => <TaskRoute encodedId={id} />}</Route>
              <Route path="/runs" component={RunsView} />
              <Route path="/runs/:id">{({ id }) => <RunPage id={id} />}</Route>
              <Route path="/inbox/:kind?">
                {({ kind }) => <InboxView {...(kind === undefined ? {} : { kind })} />}
              </Route>
              <Route path="/features" component={FeaturesView} />
              <Route path="/log" component={LogView} />
              <Route component={UnknownAddress} />
            </Switch>
          </Suspense>
        </Frame>
      </Router>
    </LiveProvider>
  );
}

function TaskRoute({ encodedId }: { encodedId: string }) {
  try {
    return <TaskPage id={decodeURIComponent(encodedId)} />;
  } catch {
    return <UnknownAddress />;
  }
}

const UnknownAddress = () => (
  <>
    <h1>Unknown address</h1>
    <Empty title="The page has no view with this address.">
      <p>
        The link may be cut off or misspelt. <Link href="/">Go to Fleet</Link>
      </p>
    </Empty>
  </>
);
