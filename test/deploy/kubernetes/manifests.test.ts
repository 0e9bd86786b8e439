import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { parseConfig } from '../../../src/config/config.ts';
import { environmentSchema } from '../../../src/config/environment-schema.ts';
import { families } from '../../../src/families/index.ts';
import { findFaults, type Resource } from './find-faults.ts';

interface Container {
  name: string;
  envFrom: { configMapRef?: { name: string }; secretRef?: { name: string } }[];
  env?: { name: string; value: string }[];
  ports?: { name: string; containerPort: number }[];
  lifecycle?: { preStop: { exec: { command: string[] } } };
}

interface Workload extends Resource {
  spec: {
    selector?: { matchLabels: object };
    template: {
      metadata: { labels: object };
      spec: { terminationGracePeriodSeconds?: number; containers: [Container] };
    };
  };
}

interface Kustomization {
  resources?: string[];
  components?: string[];
  images?: { name: string }[];
  configMapGenerator?: { name: string; literals: string[]; options?: object; behavior?: string }[];
  patches?: { patch: string }[];
}

const folder = 'deploy/kubernetes';
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.yaml'))
  .map((file) => join(folder, file));
const manifests = files.filter((file) => !file.endsWith('kustomization.yaml'));
const kustomizations = new Map(
  files
    .filter((file) => file.endsWith('kustomization.yaml'))
    .map((file) => [file, parse(readFileSync(file, 'utf8')) as Kustomization]),
);

const documentsOf = (file: string) =>
  parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS() as Resource);
const resources = manifests.flatMap(documentsOf);
const isExample = (file: string) => file.endsWith('.example.yaml');
const inBase = manifests.filter((file) => file.startsWith(join(folder, 'base'))).flatMap(documentsOf);
const workloads = resources.filter(({ kind }) => ['Deployment', 'Job'].includes(kind)) as Workload[];
const named = (kind: string, name: string) =>
  resources.find((resource) => resource.kind === kind && resource.metadata.name === name);

it.each(manifests)('every document of %s is one that its API accepts', (file) => {
  for (const resource of documentsOf(file)) expect(findFaults(resource)).toEqual([]);
});

it('a property that an API does not know is a fault', () => {
  const deployment = structuredClone(named('Deployment', 'receiver')!) as Resource & Record<string, unknown>;
  deployment.replica = 2;
  expect(findFaults(deployment)).toEqual(['/replica']);
  const scaler = structuredClone(named('ScaledObject', 'worker')!) as Resource & { spec: object };
  Object.assign(scaler.spec, { minReplicas: 1 });
  expect(findFaults(scaler)).toEqual(['/spec/minReplicas']);
});

it('the base has receivers, workers and a migration, and what keeps them available and apart', () => {
  expect(inBase.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted()).toEqual([
    'Deployment receiver',
    'Deployment worker',
    'HorizontalPodAutoscaler receiver',
    'Job migrate',
    'NetworkPolicy receiver-callbacks',
    'NetworkPolicy receiver-default-deny',
    'NetworkPolicy receiver-metrics',
    'NetworkPolicy receiver-stores',
    'PodDisruptionBudget receiver',
    'Service receiver',
  ]);
});

it.each(workloads)('the pods of $kind $metadata.name have no rights that they do not need', (workload) => {
  expect(workload.spec.template.spec).toMatchObject({
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        resources: { requests: { memory: '512Mi' }, limits: { memory: '512Mi' } },
      },
    ],
  });
});

it.each(workloads)(
  '$kind $metadata.name starts in production, with variables that the receiver knows',
  (workload) => {
    const [{ envFrom, env = [] }] = workload.spec.template.spec.containers;
    const literals = [...kustomizations.values()].flatMap(({ configMapGenerator = [] }) =>
      configMapGenerator.filter(({ name }) => name === 'receiver-config').flatMap((map) => map.literals),
    );
    const variables = {
      ...Object.fromEntries(literals.map((literal) => literal.split(/=(.*)/s, 2))),
      ...Object.fromEntries(env.map(({ name, value }) => [name, value])),
    };
    for (const { configMapRef, secretRef } of envFrom) {
      if (configMapRef) expect(configMapRef.name).toBe('receiver-config');
      const secret = secretRef && (named('Secret', secretRef.name) as Resource & { stringData: object });
      Object.assign(variables, secret?.stringData);
    }
    const known = Object.keys(environmentSchema(families).shape);
    expect(Object.keys(variables).filter((name) => !known.includes(name))).toEqual([]);
    const filled = Object.entries(variables).map(([name, value]) => [
      name,
      // Another one for each: METRICS_TOKEN must differ from ADMIN_TOKEN.
      (value as string).replace(/REPLACE[\w-]*/, createHash('md5').update(name).digest('hex')),
    ]);
    const image = { NODE_ENV: 'production', METRICS_PORT: '9464' };
    const config = parseConfig({ ...image, ...Object.fromEntries(filled) }, families);
    const role = workload.kind === 'Job' ? 'receiver_owner' : 'receiver_service';
    expect(new URL(config.databaseUrl!).username).toBe(role);
    const ports = workload.spec.template.spec.containers[0].ports ?? [];
    for (const { name, containerPort } of ports) {
      expect(containerPort).toBe(name === 'http' ? config.port : config.metrics.port);
    }
  },
);

it('the secrets of the repository are examples without a value', () => {
  const secrets = manifests.filter((file) => documentsOf(file).some(({ kind }) => kind === 'Secret'));
  expect(secrets.filter((file) => !isExample(file))).toEqual([]);
  for (const { stringData } of secrets.flatMap(documentsOf) as (Resource & { stringData: object })[]) {
    const isUser = ([name, value]: [string, string]) => name === 'username' || value.includes('REPLACE');
    expect(Object.entries(stringData).filter((entry) => !isUser(entry))).toEqual([]);
  }
});

it('a receiver stays until the proxies know that it ends, and its stop is not cut short', () => {
  const { terminationGracePeriodSeconds, containers } = (named('Deployment', 'receiver') as Workload).spec
    .template.spec;
  const [command, seconds] = containers[0].lifecycle!.preStop.exec.command;
  expect(command).toBe('sleep');
  const timeoutMs = /const timeoutMs = ([\d_]+);/.exec(readFileSync('src/commands/start.ts', 'utf8'))![1]!;
  expect(terminationGracePeriodSeconds).toBeGreaterThan(
    Number(seconds) + Number(timeoutMs.replace('_', '')) / 1_000,
  );
});

it('kustomizations name what exists, and every manifest belongs to one', () => {
  const referenced = new Set<string>();
  for (const [
    file,
    { resources: paths = [], components = [], images = [], patches = [] },
  ] of kustomizations) {
    for (const path of [...paths, ...components]) {
      const target = normalize(join(dirname(file), path));
      expect(existsSync(target)).toBe(true);
      referenced.add(target.endsWith('.yaml') ? target : join(target, 'kustomization.yaml'));
    }
    for (const { name } of images)
      expect(readFileSync(`${folder}/base/receiver.yaml`, 'utf8')).toContain(`image: ${name}\n`);
    for (const { patch } of patches) {
      const { kind, metadata } = parse(patch) as Resource;
      expect(named(kind, metadata.name)).toBeDefined();
    }
  }
  const isRoot = (file: string) => file.includes('/overlays/') && file.endsWith('kustomization.yaml');
  expect(files.filter((file) => !referenced.has(file) && !isRoot(file) && !isExample(file))).toEqual([]);
});

it('selectors find the pods, scalers their deployments, and the Service and the Ingress their ports', () => {
  for (const { spec } of workloads) {
    if (spec.selector) expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels);
  }
  const labels = (named('Deployment', 'receiver') as Workload).spec.template.metadata.labels;
  const budget = named('PodDisruptionBudget', 'receiver') as Workload;
  expect(budget.spec.selector!.matchLabels).toEqual(labels);
  const service = named('Service', 'receiver') as unknown as { spec: { selector: object; ports: object[] } };
  expect(service.spec).toMatchObject({ selector: labels, ports: [{ name: 'http', targetPort: 'http' }] });
  const backend = { service: { name: 'receiver', port: { name: 'http' } } };
  expect(named('Ingress', 'receiver')).toMatchObject({
    spec: { rules: [{ http: { paths: [{ backend }] } }] },
  });
  expect(named('HorizontalPodAutoscaler', 'receiver')).toMatchObject({
    spec: { scaleTargetRef: { kind: 'Deployment', name: 'receiver' }, minReplicas: 2 },
  });
  expect(named('ScaledObject', 'worker')).toMatchObject({
    spec: {
      scaleTargetRef: { name: 'worker' },
      minReplicaCount: 1,
      triggers: [{ authenticationRef: { name: 'worker-scaler' } }],
    },
  });
  expect(named('TriggerAuthentication', 'worker-scaler')).toMatchObject({
    spec: { secretTargetRef: [{ name: 'receiver-scaler', key: 'connection' }] },
  });
  expect(named('Secret', 'receiver-scaler')).toMatchObject({
    stringData: { connection: expect.any(String) },
  });
});
