{{- define "hooks.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "hooks.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Lets a pod fail on KWOK's nodes, as one does whose program ends with an error. */}}
{{- define "hooks.failing" -}}
pod-container-running-failed.stage.kwok.x-k8s.io: "true"
{{- end -}}

{{/* A hook Job's spec. Takes a dict: root (the chart's context), command, and fail. */}}
{{- define "hooks.jobSpec" -}}
backoffLimit: 0
template:
  metadata:
    labels:
      {{- include "hooks.labels" .root | nindent 6 }}
      {{- if .fail }}
      {{- include "hooks.failing" .root | nindent 6 }}
      {{- end }}
  spec:
    restartPolicy: Never
    containers:
      - name: shop
        image: {{ .root.Values.image }}:{{ .root.Chart.AppVersion }}
        command: [/shop, {{ .command | quote }}]
        envFrom:
          - configMapRef:
              name: {{ include "hooks.fullname" .root }}-migrations
{{- end -}}
